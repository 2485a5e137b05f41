package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	"c2c/e2e/lab"
)

// withoutServer starts Codex on its daemon with our MCP server turned off, registered as cody and
// idle.
func withoutServer(t *testing.T, args ...string) (*lab.Lab, *lab.Model, *lab.Proc) {
	t.Helper()
	l, model := newLab(t), lab.NewModel(t)
	l.SeedCodex(model, "")
	l.Run(c2c(), "install", "codex")
	l.Write(".codex/config.toml", strings.Replace(l.Read(".codex/config.toml"), "[mcp_servers.c2c]", "[mcp_servers.c2c]\nenabled = false", 1))
	l.Run(c2c(), "register", "birch", "--session-id", "birch")
	l.TrustCodexHooks()
	p := l.CodexTUI(args...)
	model.Script(shell(c2c()+" register cody"), lab.Say("Registered."))
	p.Submit("prompt-one")
	p.WaitScreen(0, "Registered.")
	codexIdle(l, 1)
	return l, model, p
}

func TestTheDaemonWakesACodexThatHasNoServer(t *testing.T) {
	t.Parallel()
	l, model, _ := withoutServer(t)
	l.Run(c2c(), "wake", "start")
	model.Script(lab.Say("Woken."))
	l.Run("sh", "-c", sendAs("birch", "cody", "meanwhile"))
	if item := once(t, model.WaitText("word-meanwhile"), "word-meanwhile"); item.Role == "developer" {
		t.Errorf("shown as %+v", item)
	}
	l.WaitFile(".c2c/repos/*/broker/broker.log", `"outcome":"rang"`)
	if got := l.Run(c2c(), "wake", "status"); !strings.Contains(got, "cody") || !strings.Contains(got, "rang by server") {
		t.Errorf("status %s", got)
	}
	l.Run(c2c(), "wake", "stop")
}

// Nothing of ours runs inside: the daemon finds the process that has the thread.
func TestTheDaemonWakesAnEmbeddedCodexThatHasNoServer(t *testing.T) {
	t.Parallel()
	l, model, _ := withoutServer(t, "--no-daemon")
	l.Run(c2c(), "wake", "start")
	model.Script(lab.Say("Woken."), lab.Say("Woken."))
	l.Run("sh", "-c", sendAs("birch", "cody", "meanwhile"))
	model.WaitText(`event="message_pending" count="1" from="birch"`)
	l.WaitFile(".c2c/repos/*/broker/broker.log", `"method":"queue","outcome":"rang"`)
	l.Run(c2c(), "wake", "stop")
}

// The session's own server goes before: the daemon lends the right to ring for each ring.
func TestTheDaemonLeavesASessionToItsServer(t *testing.T) {
	t.Parallel()
	l, model := codexLab(t, "")
	l.Run(c2c(), "wake", "start") // before there is anybody
	model.Script(register(lab.Codex, "cody"), lab.Say("Registered."))
	p := l.CodexTUI()
	p.Submit("prompt-one")
	p.WaitScreen(0, "Registered.")
	codexIdle(l, 1)
	model.Script(lab.Say("Woken."))
	l.Run("sh", "-c", sendAs("birch", "cody", "meanwhile"))
	model.WaitText("word-meanwhile")
	p.WaitScreen(0, "Woken.")
	onlyOnce(t, model.Turns(), "word-meanwhile", "")
	wantRings(t, l, 1)
	l.Run(c2c(), "wake", "stop")
}

// inTmux runs Claude Code, without the ways by which it is woken otherwise, in a pane that c2c
// knows nothing of until the person attaches it.
func inTmux(t *testing.T) (l *lab.Lab, model *lab.Model, p *lab.Proc, typed func(string)) {
	t.Helper()
	l, model = newLab(t), lab.NewModel(t)
	l.Setenv("CLAUDE_CODE_HARBOR_KITE", "0")
	l.SeedClaude(nil)
	l.Run(c2c(), "install", "claude")
	blind(l)
	l.Run(c2c(), "register", "birch", "--session-id", "birch")
	socket := l.Home + "/tmux"
	p = l.Terminal(l.ClaudeEnv(model), "tmux", "-S", socket, "-f", "/dev/null", "new-session", "-x", "120", "-y", "40", "claude", "--permission-mode", "default")
	typed = func(keys string) { l.Run("tmux", "-S", socket, "-f", "/dev/null", "send-keys", "-l", keys) }
	p.WaitShown("? for shortcuts")
	model.Script(register(lab.Claude, "amber"), bash(c2c()+" wake attach"), lab.Say("Attached."))
	typed("prompt-one")
	p.WaitShown("prompt-one")
	typed(lab.Enter)
	model.WaitText("amber is woken through")
	claudeIdle(l, model)
	return l, model, p, typed
}

func TestTheDaemonWakesAClientInTmux(t *testing.T) {
	l, model, p, typed := inTmux(t)
	l.Run(c2c(), "wake", "start", "--min-inject-gap", "1s")
	typed("half-typed-draft")
	p.WaitShown("half-typed-draft")
	l.Run("sh", "-c", sendAs("birch", "amber", "meanwhile"))
	held(l)
	model.Script(lab.Say("Woken."))
	typed("\x15") // Ctrl-U: the person has thought better of it
	r := model.WaitText("word-meanwhile")
	once(t, r, "word-meanwhile")
	once(t, r, `event="message_pending" count="1" from="birch"`)
	if len(r.Find("half-typed-draft")) != 0 {
		t.Errorf("the draft was sent:\n%s", r)
	}
	var st struct {
		Sessions []struct{ Alias, Pane string }
	}
	if err := json.Unmarshal([]byte(l.Run(c2c(), "wake", "status", "--json")), &st); err != nil || len(st.Sessions) != 1 ||
		st.Sessions[0].Alias != "amber" || !strings.HasPrefix(st.Sessions[0].Pane, "tmux:%0:") {
		t.Errorf("status %+v, %v", st, err)
	}
	l.Run(c2c(), "wake", "stop")
}
