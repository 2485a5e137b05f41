package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"c2c/e2e/lab"
)

// sendMessage has Claude's model use the client's own tool.
func sendMessage(to, text string) lab.Reply {
	return lab.Call("SendMessage", map[string]any{"to": to, "message": text, "summary": "a word"})
}

// modLab is wakeLab with a client that asks no server whether a tool may be called.
func modLab(t *testing.T, settings map[string]any, env ...string) (*lab.Lab, *lab.Model, *lab.Proc) {
	t.Helper()
	l, model := claudeLab(t, settings, env...)
	return l, model, claudeAt(t, l, model, "--permission-mode", "default")
}

func waiting(l *lab.Lab, alias string) string {
	return l.Run(c2c(), "peek-inbox", "--session-id", alias)
}

func TestClaudesOwnSendMessageReachesCodexWhoseAnswerWakesIt(t *testing.T) {
	t.Parallel()
	l, claude, codex := newLab(t), lab.NewModel(t), lab.NewModel(t)
	l.SeedClaude(nil)
	l.SeedCodex(codex, "")
	l.Run(c2c(), "install")
	l.TrustCodexHooks()
	codex.Script(register(lab.Codex, "cody"), lab.Say("Registered."))
	q := l.CodexTUI()
	q.Submit("prompt-of-codex")
	q.WaitScreen(0, "Registered.")
	codexIdle(l, 1)
	p := claudeAt(t, l, claude, "--permission-mode", "default")

	asked := make(chan struct{})
	codex.Script(toolSend(lab.Codex, "amber", "word-from-codex", "m-2").After(asked), lab.Say("Answered."))
	claude.Script(sendMessage("cody", "word-from-claude"), lab.Say("Asked."), lab.Say("Woken."))
	p.Submit("please ask")
	p.WaitShown("Asked.")
	claudeIdle(l, claude)
	if item := once(t, codex.WaitText("word-from-claude"), "word-from-claude"); item.Role == "developer" {
		t.Errorf("Codex has it as %+v", item)
	}
	close(asked)
	claude.WaitText("word-from-codex")
	p.WaitShown("Woken.")
	once(t, claude.WaitText("Delivered by a plugin hook"), `"success":true`)
	onlyOnce(t, claude.Turns(), "word-from-codex", "user")
	onlyOnce(t, codex.Turns(), "word-from-claude", "")
	wantRead(t, l, "m-2", "read by socket")
}

func TestSendMessageSaysDeliveredOnlyOfWhatIsStored(t *testing.T) {
	t.Parallel()
	l, model, p := modLab(t, nil)
	l.Run(c2c(), "register", "coral", "--session-id", "coral")
	other := lab.NewModel(t)
	l.ClaudeTUI(other, "--permission-mode", "default", "--name", "coral") // the client's own name comes first
	broken := make(chan struct{})
	model.Script(
		lab.Call("ListAgents", map[string]any{}),
		sendMessage("nobody", "word-to-nobody"),
		sendMessage("birch", "word-to-birch"),
		sendMessage("coral", "word-to-coral"),
		sendMessage("birch", "word-in-vain").After(broken), // after those before it
		lab.Say("Sent."))
	p.Submit("prompt-two")
	other.WaitText("word-to-coral")
	root, err := filepath.Glob(l.Home + "/.c2c/repos/*/broker")
	if err != nil || len(root) != 1 {
		t.Fatal(root, err)
	}
	l.Run("mount", "--bind", root[0], root[0])
	t.Cleanup(func() { l.Run("umount", "--lazy", root[0]) }) // the client's hooks may still use it
	l.Run("mount", "-o", "remount,bind,ro", root[0])
	close(broken)
	p.WaitShown("Sent.")

	last := model.WaitText("read-only file system")
	once(t, last, "No agent named 'nobody' is reachable")
	if item := once(t, last, "also reaches these sessions of c2c"); !strings.Contains(item.Text, "You are amber there.\nbirch (") || strings.Contains(item.Text, "amber (") {
		t.Errorf("ListAgents says %q", item.Text)
	}
	once(t, last, "Delivered by a plugin hook")
	once(t, last, "read-only file system")
	if got := waiting(l, "birch"); !strings.Contains(got, "word-to-birch") || strings.Contains(got, "vain") {
		t.Errorf("birch has %s", got)
	}
	if got := waiting(l, "coral"); strings.Contains(got, "word") {
		t.Errorf("coral has in c2c %s", got)
	}
}

func TestWaitingMailIsShownToThePersonAndNotToTheModel(t *testing.T) {
	t.Parallel()
	l, model, p := modLab(t, nil)
	turns := len(model.Turns())
	l.Run(c2c(), "dnd", "--session-id", "amber", "on")
	l.Run("sh", "-c", sendAs("birch", "amber", "quiet"))
	p.WaitScreen(0, "1 message waits from birch (/inbox)")
	p.Command("/inbox")
	p.WaitShown("</c2c>")
	if out := p.Out.String(); !strings.Contains(out, "word-quiet") || strings.Contains(out, "\uFFFD") {
		t.Errorf("the mail is not shown as it is: %q", out)
	}
	if n := len(model.Turns()); n != turns {
		t.Errorf("%d requests for /inbox", n-turns)
	}
	if got := status(l, "id-quiet"); !strings.Contains(got, "queued") {
		t.Errorf("status %q", got)
	}
	p.Submit("prompt-two")
	model.WaitText("prompt-two")
	onlyOnce(t, model.Turns(), "word-quiet", "")
	wantRead(t, l, "id-quiet", "read by hook")
	p.WaitGone("message waits")
	if got, _ := l.Try(c2c(), "doctor", "--verbose"); !strings.Contains(got, "claude mod: loaded in amber") {
		t.Errorf("doctor says %s", got)
	}
}

func TestMailArrivesWhereTheModIsSwitchedOff(t *testing.T) {
	t.Parallel()
	l, model, p := modLab(t, map[string]any{"enabledPlugins": map[string]any{"c2c@skills-dir": false}})
	arrivesWithoutTheMod(t, l, model, p)
}

func TestMailArrivesWhereAPolicyForbidsTheMod(t *testing.T) {
	t.Parallel()
	l, model := claudeLab(t, nil)
	// The client reads the policy in /etc, of which this one gets a copy of its own.
	l.Run("sh", "-c", `cp -a /etc "$HOME/etc" && mkdir -p "$HOME/etc/claude-code"`)
	l.Write("etc/claude-code/managed-settings.json", `{"pluginConfigs": {"sec-default@builtin": {"options": {"allowManagedModsOnly": true}}, "cc-plugin-sec-default@builtin": {"options": {"allowManagedModsOnly": true}}}}`)
	p := l.Terminal(l.ClaudeEnv(model), "unshare", "-m", "sh", "-c", `mount --bind "$HOME/etc" /etc && exec claude --permission-mode default`)
	p.WaitShown("? for shortcuts")
	model.Script(register(lab.Claude, "amber"), lab.Say("Registered."))
	p.Submit("prompt-one")
	p.WaitShown("Registered.")
	claudeIdle(l, model)
	arrivesWithoutTheMod(t, l, model, p)
}

func arrivesWithoutTheMod(t *testing.T, l *lab.Lab, model *lab.Model, p *lab.Proc) {
	t.Helper()
	model.Script(lab.Say("Woken."))
	l.Run("sh", "-c", sendAs("birch", "amber", "meanwhile"))
	model.WaitText("word-meanwhile")
	p.WaitShown("Woken.")
	wantRead(t, l, "id-meanwhile", "read by socket")
	onlyOnce(t, model.Turns(), "word-meanwhile", "user")
	model.Script(sendMessage("birch", "word-to-birch"))
	p.Submit("prompt-two")
	model.WaitText("No agent named 'birch' is reachable")
	if got, _ := l.Try(c2c(), "doctor", "--verbose"); !strings.Contains(got, "claude mod: not loaded in amber, where mail arrives all the same") {
		t.Errorf("doctor says %s", got)
	}
}

// All mods share one thread: while one of them spins, no other one does anything.
func TestMailArrivesWhileAnotherModBlocksOurs(t *testing.T) {
	t.Parallel()
	l, model := claudeLab(t, nil)
	l.Write(".claude/skills/spin/.claude-plugin/plugin.json", `{"name":"spin","version":"1.0.0"}`)
	l.Write(".claude/skills/spin/hooks/hooks.json", `{"modules":["./spin.js"],"hooks":{}}`)
	l.Write(".claude/skills/spin/hooks/spin.js", `export function register(on) {
  on("turn.complete", async ($, e, next) => {
    $.clock.after(1000, async () => { await $.fs.write("`+l.Home+`/spins", "now"); for (;;) {} })
    return next(e)
  })
}`)
	p := claudeAt(t, l, model, "--permission-mode", "default", "--debug-file", l.Home+"/debug.log")
	l.WaitFile("spins", "now")
	// Nobody answers for our names. The client notices when it calls a mod, unloads the other one
	// and starts ours again.
	model.Script(sendMessage("birch", "word-in-vain"), lab.Say("Woken."), sendMessage("birch", "word-to-birch"), lab.Say("Sent."))
	l.Run("sh", "-c", sendAs("birch", "amber", "meanwhile"))
	model.WaitText("No agent named 'birch' is reachable")
	p.WaitShown("Woken.")
	wantRead(t, l, "id-meanwhile", "read by socket")
	onlyOnce(t, model.Turns(), "word-meanwhile", "user")
	l.WaitFileCount("debug.log", "/inbox listed", 2)
	p.Submit("prompt-two")
	once(t, model.WaitText("Delivered by a plugin hook"), `"success":true`)
}

// For a client of before mods (2.1.240) the mod's files are a plugin that does nothing. Whether it
// has the socket its maker says over the network, which the variable overrides.
func TestMailArrivesInAClaudeOlderThanMods(t *testing.T) {
	for _, way := range []struct{ socket, by, role string }{{"1", "read by socket", "user"}, {"0", "read by hook", "system"}} {
		t.Run(way.by, func(t *testing.T) {
			t.Parallel()
			l, model := claudeLab(t, nil, "CLAUDE_CODE_HARBOR_KITE="+way.socket)
			l.UseOlder(lab.Claude)
			p := l.ClaudeTUI(model, "--permission-mode", "default", "--debug-file", l.Home+"/debug.log")
			done := make(chan struct{})
			model.Script(register(lab.Claude, "amber"), bash("true").After(done), lab.Say("Finished."))
			p.Command("prompt-one") // it takes an Enter right behind a paste for a part of that
			model.WaitText(`"alias":"amber"`)
			l.Run("sh", "-c", sendAs("birch", "amber", "working"))
			close(done)
			model.WaitText("word-working")
			p.WaitShown("Finished.")
			claudeIdle(l, model)
			wantRead(t, l, "id-working", "read by hook")

			model.Script(lab.Say("Woken."))
			l.Run("sh", "-c", sendAs("birch", "amber", "meanwhile"))
			model.WaitText("word-meanwhile")
			p.WaitShown("Woken.")
			wantRead(t, l, "id-meanwhile", way.by)
			l.WaitFile("debug.log", "Loaded plugins - Enabled: 1, Disabled: 0, Commands: 0, Agents: 0, Errors: 0")

			model.Script(sendMessage("birch", "word-to-birch"))
			p.Command("prompt-two")
			once(t, model.WaitText("No agent named 'birch' is reachable"), `"success":false`)
			onlyOnce(t, model.Turns(), "word-working", "system")
			onlyOnce(t, model.Turns(), "word-meanwhile", way.role)
			if got := waiting(l, "birch"); strings.Contains(got, "word-to-birch") {
				t.Errorf("birch has %s", got)
			}
		})
	}
}
