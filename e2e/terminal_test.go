package e2e

import (
	"strings"
	"testing"

	"c2c/e2e/lab"
)

// terminalAt starts Claude Code by name in a terminal of c2c's, without the socket by which it is woken
// otherwise.
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
	l.WaitFile(".claude/sessions/*.json", `"status":"idle"`)
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
	p.Send("half-typed-draft")
	p.WaitScreen(0, "half-typed-draft")
	l.Run("sh", "-c", sendAs("birch", "amber", "meanwhile"))
	held(l)
	p.Send(lab.Enter)
	r := model.WaitText("half-typed-draft")
	if item := once(t, r, "half-typed-draft"); strings.Contains(item.Text, "message_pending") {
		t.Errorf("the draft became %q", item.Text)
	}
	once(t, r, "word-meanwhile") // the prompt's hook has brought it
}

func TestNothingIsTypedIntoADialog(t *testing.T) {
	t.Parallel()
	l, model, p := terminalAt(t, map[string]any{"permissions": map[string]any{"allow": []string{"mcp__c2c"}}})
	target := l.Home + "/touched"
	model.Script(bash("touch "+target), lab.Say("Refused."), lab.Say("Woken."))
	p.Submit("prompt-two")
	p.WaitScreen(0, "Do you want to proceed")
	l.Run("sh", "-c", "rm ~/.claude/sessions/*.json") // or the client's own word would hold the ring back already
	l.Run("sh", "-c", sendAs("birch", "amber", "meanwhile"))
	held(l)
	p.Send(lab.Esc) // the person says no
	model.WaitText("word-meanwhile")
	if _, err := l.Try("test", "-e", target); err == nil {
		t.Error("the dialog was approved")
	}
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
	l.WaitFile(".codex/sessions/*/*/*/rollout-*.jsonl", `"task_complete"`)
	model.Script(shell(c2c()+" poll-inbox"), lab.Say("Woken."))
	l.Run("sh", "-c", sendAs("birch", "cody", "meanwhile"))
	r := model.WaitText("word-meanwhile")
	once(t, r, "message_pending")
	p.WaitScreen(0, "Woken.")
	wantRings(t, l, 1)
}
