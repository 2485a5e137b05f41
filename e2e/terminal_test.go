package e2e

import (
	"testing"

	"c2c/e2e/lab"
)

// terminalAt starts Claude Code by name in a terminal of c2c's, without the socket by which it is
// woken otherwise.
func terminalAt(t *testing.T, settings map[string]any) (*lab.Lab, *lab.Model, *lab.Proc) {
	t.Helper()
	l, model := newLab(t), lab.NewModel(t)
	l.Setenv("CLAUDE_CODE_HARBOR_KITE", "0")
	l.SeedClaude(settings)
	l.Run(c2c(), "install", "claude")
	blind(l)
	l.Run(c2c(), "register", "birch", "--session-id", "birch")
	p := l.Terminal(l.ClaudeEnv(model), c2c(), "start", "--alias", "amber", "claude", "--", "--permission-mode", "default")
	p.WaitScreen(0, "shift+tab to cycle", "? for shortcuts")
	model.Script(lab.Say("Ready."))
	p.Submit("prompt-one")
	p.WaitScreen(0, "Ready.")
	claudeIdle(l, model)
	return l, model, p
}

// blind takes out the hook by which Claude Code wakes itself.
func blind(l *lab.Lab) {
	l.Run("python3", "-c", `
import json, sys
with open(sys.argv[1]) as f: settings = json.load(f)
del settings["hooks"]["FileChanged"]
with open(sys.argv[1], "w") as f: json.dump(settings, f)`, l.Home+"/.claude/settings.json")
}

func held(l *lab.Lab) { l.WaitFile(".c2c/repos/*/broker/broker.log", `"outcome":"uncaptured"`) }

func TestAClientWithoutItsSocketIsWokenThroughItsTerminal(t *testing.T) {
	t.Parallel()
	l, model, p := terminalAt(t, nil)
	model.Script(lab.Say("Woken."))
	l.Run("sh", "-c", sendAs("birch", "amber", "meanwhile"))
	r := model.WaitText("word-meanwhile")
	once(t, r, "word-meanwhile")
	once(t, r, `event="message_pending" count="1" from="birch"`)
	p.WaitScreen(0, "Woken.")
	wantRead(t, l, "id-meanwhile", "read by hook")
	wantRings(t, l, 1)
}

func TestNothingIsTypedOverADraft(t *testing.T) {
	t.Parallel()
	l, model, p := terminalAt(t, nil)
	nothingIsTypedOverADraft(t, l, model, p, "half-typed-draft")
}

func TestNothingIsTypedIntoADialog(t *testing.T) {
	t.Parallel()
	l, model, p := terminalAt(t, map[string]any{"permissions": map[string]any{"allow": []string{"mcp__c2c"}}})
	model.Script(bash("touch "+touched(l)), lab.Say("Refused."), lab.Say("Woken."))
	p.Submit("prompt-two")
	p.WaitScreen(0, "Do you want to proceed")
	claudeIs(l, "waiting")
	l.Run("sh", "-c", "rm ~/.claude/sessions/*.json") // or the client's own word would hold the ring back already
	nothingIsTypedIntoADialog(t, l, model, p, "Do you want to proceed")
}

// Without an MCP server, and so without a ringer of its own.
func TestCodexIsWokenThroughItsTerminal(t *testing.T) {
	t.Parallel()
	l, model := codexLab(t, "")
	p := l.Terminal(l.CodexEnv(), c2c(), "start", "codex", "--", "--no-daemon", "-c", "mcp_servers.c2c.enabled=false")
	p.WaitScreen(0, "›")
	model.Script(shell(c2c()+" register cody"), lab.Say("Registered."))
	p.Submit("prompt-one")
	p.WaitScreen(0, "Registered.")
	codexIdle(l, 1)
	model.Script(shell(c2c()+" poll-inbox"), lab.Say("Woken."))
	l.Run("sh", "-c", sendAs("birch", "cody", "meanwhile"))
	r := model.WaitText("word-meanwhile")
	once(t, r, "message_pending")
	p.WaitScreen(0, "Woken.")
	wantRings(t, l, 1)
}
