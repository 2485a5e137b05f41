package e2e

import (
	"strconv"
	"strings"
	"testing"

	"c2c/e2e/lab"
)

// openCodeLab is a lab whose OpenCode has the probe server.
func openCodeLab(t *testing.T) (*lab.Lab, *lab.Model) {
	l, model := newLab(t), lab.NewModel(t)
	program, args := probe(t, l)
	l.SeedOpenCode(model, map[string]any{"mcp": map[string]any{"probe": map[string]any{
		"type": "local", "command": append([]string{program}, args...)}}})
	return l, model
}

func TestLabOpenCodeAnswersOnePrompt(t *testing.T) {
	t.Parallel()
	l, model := openCodeLab(t)
	model.Script(lab.CallMCP(lab.OpenCode, "probe", "look", map[string]any{}), lab.Say("I looked."))
	if out := l.OpenCodeRun("please look").Wait(); !strings.Contains(out, "I looked.") {
		t.Errorf("opencode run printed %q", out)
	}
	once(t, model.Wait(1), "probe-looked")
	cancelsOnce(t, l)
}

func TestLabOpenCodeCallsMCPToolsAndKeepsADraft(t *testing.T) {
	t.Parallel()
	l, model := openCodeLab(t)
	p := l.OpenCodeTUI()
	looksIn(t, lab.OpenCode, model, p, "prompt-one")
	clears(p, "/new", "Looked: prompt-one", "Ask anything")
	looksIn(t, lab.OpenCode, model, p, "prompt-two")
	wantProbe(t, l, "opencode", l.Version(lab.OpenCode), "2025-11-25", "progressToken")
	pid, starts := strconv.Itoa(p.Pid()), probeStarts(t, l)
	if len(starts) != 1 {
		t.Errorf("after /new there are %d MCP servers", len(starts))
	}
	wantEnv(t, starts[0], map[string]string{"ppid": pid, "OPENCODE_PID": pid, "OPENCODE": "1", "AGENT": "1"})
	keepsDraft(t, model, p)
}

// The text of plugins is TypeScript as it is, and the session's id comes to a tool call only from
// them.
func TestLabOpenCodePluginSaysTheSession(t *testing.T) {
	t.Parallel()
	l, model := openCodeLab(t)
	l.Write(".config/opencode/plugins/lab.ts", `
export const Lab = async () => ({
  "tool.execute.before": async (input: { sessionID: string }, output: { args: Record<string, string> }) => {
    output.args._session_id = input.sessionID
  },
  "shell.env": async (input: { sessionID: string }, output: { env: Record<string, string> }) => {
    output.env.LAB_SESSION = input.sessionID
  },
})
`)
	p := l.OpenCodeTUI()
	looksIn(t, lab.OpenCode, model, p, "please look")
	session, _ := probeGot(t, l, "tools/call")[0].Params.Arguments["_session_id"].(string)
	if !strings.HasPrefix(session, "ses_") {
		t.Errorf("the probe was called by session %q", session)
	}
	model.Script(lab.Call("bash", map[string]any{"command": "echo shell-of-$LAB_SESSION", "description": "say it"}))
	p.Submit("please say it")
	once(t, model.WaitText("shell-of-ses_"), "shell-of-"+session)
}
