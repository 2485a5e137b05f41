package e2e

import (
	"strings"
	"testing"

	"c2c/e2e/lab"
)

// Claude asks to be told when Codex has ended, and is woken by one notice when its process is
// killed.
func TestClaudeIsToldOnceThatCodexHasEnded(t *testing.T) {
	t.Parallel()
	l, claude, codex := newLab(t), lab.NewModel(t), lab.NewModel(t)
	l.SeedClaude(nil)
	l.SeedCodex(codex, "")
	l.Run(c2c(), "install")
	l.TrustCodexHooks()
	codex.Script(register(lab.Codex, "cody"), lab.Say("Registered."))
	q := l.CodexTUI("--no-daemon")
	q.Submit("prompt-of-codex")
	q.WaitScreen(0, "Registered.")
	codexIdle(l, 1)
	p := claudeAt(t, l, claude, "--permission-mode", "default")
	claude.Script(lab.CallMCP(lab.Claude, "c2c", "notify_when", map[string]any{"alias": "cody", "when": "ended"}), lab.Say("Asked."))
	p.Submit("please ask")
	p.WaitShown("Asked.")
	claudeIdle(l, claude)
	if got := l.Run(c2c(), "notify"); !strings.Contains(got, "amber is told when cody has ended") {
		t.Errorf("what waits: %s", got)
	}
	claude.Script(lab.Say("I see."))
	q.Kill()
	r := claude.WaitText("cody has ended")
	p.WaitShown("I see.")
	if once(t, r, "cody has ended"); strings.Contains(l.Run(c2c(), "notify"), "cody") {
		t.Error("the request is still there")
	}
	claudeIdle(l, claude)
	onlyOnce(t, claude.Turns(), "cody has ended", "user")
}
