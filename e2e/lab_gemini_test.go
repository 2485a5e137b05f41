package e2e

import (
	"strconv"
	"strings"
	"testing"

	"c2c/e2e/lab"
)

// geminiLab is a lab whose Gemini has the probe server.
func geminiLab(t *testing.T) (*lab.Lab, *lab.Model) {
	l, model := newLab(t), lab.NewModel(t)
	program, args := probe(t, l)
	l.SeedGemini(map[string]any{"mcpServers": map[string]any{"probe": map[string]any{
		"command": program, "args": args, "trust": true}}})
	return l, model
}

func TestLabGeminiAnswersOnePrompt(t *testing.T) {
	t.Parallel()
	l, model := geminiLab(t)
	model.Script(lab.CallMCP(lab.Gemini, "probe", "look", map[string]any{}), lab.Say("I looked."))
	if out := l.GeminiPrompt(model, "please look").Wait(); !strings.Contains(out, "I looked.") {
		t.Errorf("gemini -p printed %q", out)
	}
	once(t, model.Wait(1), "probe-looked")
}

// The session is a child of the process that was started.
func TestLabGeminiCallsMCPToolsAndKeepsADraft(t *testing.T) {
	t.Parallel()
	l, model := geminiLab(t)
	p := l.GeminiTUI(model)
	looksIn(t, lab.Gemini, model, p, "prompt-one")
	clears(p, "/clear", "Looked: prompt-one", "Type your message")
	looksIn(t, lab.Gemini, model, p, "prompt-two")
	wantProbe(t, l, "gemini-cli-mcp-client", l.Version(lab.Gemini), "2025-06-18", "progressToken")
	starts := probeStarts(t, l)
	if len(starts) != 1 {
		t.Errorf("after /clear there are %d MCP servers", len(starts))
	}
	wantEnv(t, starts[0], map[string]string{"GEMINI_CLI": "1", "GEMINI_API_KEY": ""})
	if launcher := parent(t, starts[0]["ppid"]); launcher != strconv.Itoa(p.Pid()) {
		t.Errorf("the session's parent is %s, started was %d", launcher, p.Pid())
	}
	keepsDraft(t, model, p)
}
