package e2e

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"c2c/e2e/lab"
)

// kimiLab is a lab whose Kimi has the probe server.
func kimiLab(t *testing.T) (*lab.Lab, *lab.Model) {
	l, model := newLab(t), lab.NewModel(t)
	program, args := probe(t, l)
	l.SeedKimi(model, "")
	text, _ := json.Marshal(map[string]any{"mcpServers": map[string]any{"probe": map[string]any{
		"command": program, "args": args}}})
	l.Write(".kimi-code/mcp.json", string(text))
	return l, model
}

func TestLabKimiAnswersOnePrompt(t *testing.T) {
	t.Parallel()
	l, model := kimiLab(t)
	model.Script(lab.CallMCP(lab.Kimi, "probe", "look", map[string]any{}), lab.Say("I looked."))
	if out := l.KimiPrompt("please look").Wait(); !strings.Contains(out, "I looked.") {
		t.Errorf("kimi -p printed %q", out)
	}
	once(t, model.Wait(1), "probe-looked")
	cancelsOnce(t, l)
}

// Nothing tells its MCP server which session it is.
func TestLabKimiCallsMCPToolsAndKeepsADraft(t *testing.T) {
	t.Parallel()
	l, model := kimiLab(t)
	p := l.KimiTUI()
	looksIn(t, lab.Kimi, model, p, "prompt-one")
	clears(p, "/new", "Looked: prompt-one", "context: 0%")
	looksIn(t, lab.Kimi, model, p, "prompt-two")
	wantProbe(t, l, "kimi-code", "0.0.0", "2025-11-25")
	starts := probeStarts(t, l)
	if len(starts) != 1 || starts[0]["ppid"] != strconv.Itoa(p.Pid()) {
		t.Errorf("after /new there are %d MCP servers, the parent is %s", len(starts), starts[0]["ppid"])
	}
	for key := range starts[0] {
		if strings.HasPrefix(key, "KIMI_") && key != "KIMI_CODE_NO_AUTO_UPDATE" && key != "KIMI_DISABLE_TELEMETRY" {
			t.Errorf("the MCP server has %s", key)
		}
	}
	keepsDraft(t, model, p)
}
