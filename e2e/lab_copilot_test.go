package e2e

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"c2c/e2e/lab"
)

// copilotLab is a lab whose Copilot has the probe server.
func copilotLab(t *testing.T) (*lab.Lab, *lab.Model) {
	l, model := newLab(t), lab.NewModel(t)
	program, args := probe(t, l)
	l.SeedCopilot(nil)
	text, _ := json.Marshal(map[string]any{"mcpServers": map[string]any{"probe": map[string]any{
		"type": "local", "command": program, "args": args, "tools": []string{"*"}}}})
	l.Write(".copilot/mcp-config.json", string(text))
	return l, model
}

func TestLabCopilotAnswersOnePrompt(t *testing.T) {
	t.Parallel()
	l, model := copilotLab(t)
	model.Script(lab.CallMCP(lab.Copilot, "probe", "look", map[string]any{}), lab.Say("I looked."))
	if out := l.CopilotPrompt(model, "please look").Wait(); !strings.Contains(out, "I looked.") {
		t.Errorf("copilot -p printed %q", out)
	}
	once(t, model.Wait(1), "probe-looked")
	if asked := probeGot(t, l, "server/discover"); len(asked) != 1 {
		t.Errorf("%d times server/discover before initialize", len(asked))
	}
}

// After /clear another MCP server has another session id.
func TestLabCopilotCallsMCPToolsAndKeepsADraft(t *testing.T) {
	t.Parallel()
	l, model := copilotLab(t)
	p := l.CopilotTUI(model)
	looksIn(t, lab.Copilot, model, p, "prompt-one")
	clears(p, "/clear", "Looked: prompt-one", "? help")
	looksIn(t, lab.Copilot, model, p, "prompt-two")
	wantProbe(t, l, "copilot-cli", l.Version(lab.Copilot), "2025-11-25", "progressToken")
	starts := probeStarts(t, l)
	if len(starts) != 2 || starts[0]["COPILOT_AGENT_SESSION_ID"] == starts[1]["COPILOT_AGENT_SESSION_ID"] {
		t.Errorf("after /clear there are %d MCP servers, of sessions %s and %s", len(starts),
			starts[0]["COPILOT_AGENT_SESSION_ID"], starts[len(starts)-1]["COPILOT_AGENT_SESSION_ID"])
	}
	pid := strconv.Itoa(p.Pid())
	for _, env := range starts {
		wantEnv(t, env, map[string]string{"ppid": pid, "COPILOT_LOADER_PID": pid})
		l.WaitFile(".copilot/session-state/"+env["COPILOT_AGENT_SESSION_ID"]+"/events.jsonl", "prompt-")
	}
	keepsDraft(t, model, p)
}
