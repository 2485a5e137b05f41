package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"c2c/e2e/lab"
	"c2c/sessions"
)

// codexLab has a Codex that c2c is installed in, and a birch who writes.
func codexLab(t *testing.T, toml string) (*lab.Lab, *lab.Model) {
	t.Helper()
	l, model := newLab(t), lab.NewModel(t)
	l.SeedCodex(model, toml)
	l.Run(c2c(), "install", "codex")
	l.Run(c2c(), "register", "birch", "--session-id", "birch")
	l.TrustCodexHooks()
	return l, model
}

// codexAt starts Codex on a terminal, registered as cody and idle, and a birch who writes to it.
func codexAt(t *testing.T, toml string, args ...string) (*lab.Lab, *lab.Model, *lab.Proc) {
	t.Helper()
	l, model := codexLab(t, toml)
	model.Script(register(lab.Codex, "cody"), lab.Say("Registered."))
	p := l.CodexTUI(args...)
	p.Submit("prompt-one")
	p.WaitScreen(0, "Registered.")
	codexIdle(l, 1) // before, its Stop hook would bring the mail
	return l, model, p
}

// keepsTheDraft wakes a client whose person is typing, and then sends what was typed.
func keepsTheDraft(t *testing.T, l *lab.Lab, model *lab.Model, p *lab.Proc, alias string) {
	t.Helper()
	p.Send("half-typed-draft")
	p.WaitShown("half-typed-draft")
	model.Script(lab.Say("Woken."))
	l.Run("sh", "-c", sendAs("birch", alias, "meanwhile"))
	if r := model.WaitText("word-meanwhile"); len(r.Find("half-typed-draft")) != 0 {
		t.Errorf("the draft was sent:\n%s", r)
	}
	p.WaitShown("Woken.")
	seesRecorded(t, l, p, lab.Client(listed(l, alias).Client), "idle", "word-meanwhile")
	p.Send(lab.Enter)
	r := model.WaitText("half-typed-draft")
	once(t, r, "word-meanwhile")
	if item := once(t, r, "half-typed-draft"); strings.Contains(item.Text, "c2c") {
		t.Errorf("the draft became %q", item.Text)
	}
}

// A terminal that runs without the daemon looks at its queue every nine seconds or so.
func TestAnEmbeddedCodexIsWokenThroughItsQueue(t *testing.T) {
	t.Parallel()
	l, model, _ := codexAt(t, "", "--no-daemon")
	model.Script(lab.CallMCP(lab.Codex, "c2c", "poll_inbox", map[string]any{}), lab.Say("Woken."))
	l.Run("sh", "-c", sendAs("birch", "cody", "meanwhile"))
	item := once(t, model.WaitText("word-meanwhile"), "word-meanwhile")
	if item.Role != "tool" && item.Role != "user" {
		t.Errorf("shown as %+v", item)
	}
	wantRings(t, l, 1)
}

// Its hook would show it as an error at the end of the turn: the server rings right behind it.
func TestMailAtTheEndOfATurnOfCodexIsNoError(t *testing.T) {
	t.Parallel()
	l, model, p := codexAt(t, "", "-a", "on-request", "-s", "read-only")
	done := make(chan struct{})
	model.Script(shell("true").After(done), lab.Say("Finished."), lab.Say("Read."))
	p.Submit("prompt-two")
	model.WaitText("prompt-two")
	l.Run("sh", "-c", sendAs("birch", "cody", "meanwhile"))
	close(done)
	item := once(t, model.WaitText("word-meanwhile"), "word-meanwhile")
	if item.Role != "tool" {
		t.Errorf("shown as %+v", item)
	}
	wantRead(t, l, "id-meanwhile", "read by server")
	p.WaitShown("Mail from birch (claimed): word-meanwhile")
	seesRecorded(t, l, p, lab.Codex, "turn", "word-meanwhile")
	codexIdle(l, 3)

	model.Script(lab.Call("exec_command", map[string]any{"cmd": "true", "sandbox_permissions": "require_escalated", "justification": "the lab"}),
		lab.Say("Allowed."), lab.Say("Read at last."))
	p.Submit("prompt-three")
	p.WaitShown("Yes, proceed")
	l.Run("sh", "-c", sendAs("birch", "cody", "dialog"))
	p.Send(lab.Enter)
	p.WaitShown("Read at last.")
	seesRecorded(t, l, p, lab.Codex, "dialog", "word-dialog")
}

// A thread that nobody has open cannot be rung; its mail waits for its next turn.
func TestMailForAClosedThreadWaits(t *testing.T) {
	t.Parallel()
	l, model := codexLab(t, "")
	model.Script(register(lab.Codex, "cody"), lab.Say("Registered."))
	l.CodexExec("please register").Wait()
	l.Run("sh", "-c", sendAs("birch", "cody", "later"))
	if got := status(l, "id-later"); !strings.Contains(got, "queued") || !strings.Contains(got, "cody is absent; the message waits until it is back\n") || !strings.Contains(got, "open it anew with codex resume ") {
		t.Errorf("status %q", got)
	}
	l.CodexExec("resume", model.Wait(0).CodexThread(), "anything new?").Wait()
	once(t, model.WaitText("word-later"), "word-later")
}

// Until its person has answered the first dialog, its window does not open the thread, and the
// daemon closes the thread after a minute.
func TestACodexThatAsksForTrustInHooksIsNotAbsent(t *testing.T) {
	t.Parallel()
	l, model := newLab(t), lab.NewModel(t)
	l.SeedCodex(model, "")
	l.Run(c2c(), "install", "codex")
	l.Run(c2c(), "register", "birch", "--session-id", "birch")
	start := func() *lab.Proc { return l.Terminal(l.CodexEnv(), c2c(), "start", "--alias", "cody", "codex") }
	p := start()
	p.WaitShown("Hooks need review")
	l.Run("sh", "-c", "while ls ~/.codex/thread-writer-locks/*-*.lock; do sleep 0.1; done >/dev/null 2>&1")
	l.Run("sh", "-c", sendAs("birch", "cody", "early"))
	if got := status(l, "id-early"); !strings.Contains(got, "cody waits for its person") || !strings.Contains(got, "answer the dialog in its terminal") {
		t.Errorf("status %q", got)
	}
	model.Script(lab.Say("Woken."))
	trustsCodexHooks(l, p)
	once(t, model.WaitText("word-early"), "word-early")
	wantRead(t, l, "id-early", "read by server")
	p.WaitShown("Woken.")
	p.Command("/quit")
	p.Wait()
	l.Run("sh", "-c", "while ls ~/.codex/thread-writer-locks/*-*.lock; do sleep 0.1; done >/dev/null 2>&1")
	if got := listed(l, "cody").Now.Does; got != sessions.Absent {
		t.Errorf("its window has ended, and it is %s", got)
	}
}

// distrusts has Codex ask its person whether to trust a folder: it asks only if the configuration
// does not say what its model may do.
func distrusts(l *lab.Lab, folder string) {
	config := strings.NewReplacer(`approval_policy = "never"`, "", `sandbox_mode = "danger-full-access"`, "", `[projects."`+folder+`"]`, `[projects."/nowhere"]`)
	l.Write(".codex/config.toml", config.Replace(l.Read(".codex/config.toml")))
}

// The app-server has the session before its person is asked. A turn would run behind the question,
// with the folder's instructions.
func TestMailWaitsUntilTheFolderOfACodexIsTrusted(t *testing.T) {
	t.Parallel()
	l, model := codexLab(t, "")
	distrusts(l, l.Project)
	p := l.Terminal(l.CodexEnv(), c2c(), "start", "--alias", "cody", "codex")
	p.WaitShown("Trust this folder?")
	does(l, "cody", sessions.Waiting)
	if got := l.Run("sh", "-c", sendAs("birch", "cody", "early")); !strings.Contains(got, "cody waits for its person") {
		t.Errorf("a receipt while it asks %q", got)
	}
	l.WaitFile(".c2c/repos/*/broker/broker.log", `"outcome":"uncaptured"`)
	if got := status(l, "id-early"); !strings.Contains(got, "queued") || !strings.Contains(got, "answer the dialog in its terminal") {
		t.Errorf("a status while it asks %q", got)
	}
	if n := len(model.Turns()); n > 0 {
		t.Errorf("%d requests from a folder that nobody trusts", n)
	}
	model.Script(lab.Say("Woken."))
	p.Send(lab.Enter)
	once(t, model.WaitText("word-early"), "word-early\n")
	p.WaitShown("Woken.")
	wantRead(t, l, "id-early", "read by server")
	does(l, "cody", sessions.Idle)
}

// The app-server keeps the thread of the window that has closed for a minute. Mail of the open
// window does not wait for that.
func TestAnOpenCodexHasItsMailWhenAnotherWindowCloses(t *testing.T) {
	t.Parallel()
	l, model, p := codexAt(t, "")
	distrusts(l, "/none")
	other := filepath.Join(filepath.Dir(l.Project), "other")
	elsewhere := func(command string) []string {
		return []string{"sh", "-c", "mkdir -p " + other + " && cd " + other + " && " + command}
	}
	q := l.Terminal(l.CodexEnv(), elsewhere("git init -q && exec "+c2c()+" start --alias dune codex")...)
	q.WaitShown("Trust this folder?")
	q.Kill()
	model.Script(lab.Say("Woken."))
	l.Run("sh", "-c", sendAs("birch", "cody", "open"))
	once(t, model.WaitText("word-open"), "word-open\n")
	p.WaitShown("Woken.")
	l.Run(elsewhere(c2c() + " register ash --session-id ash; " + sendAs("ash", "dune", "closed"))...)
	l.WaitFile(".c2c/repos/*/broker/broker.log", `"outcome":"away"`)
	if n := len(lines(l.Run("sh", "-c", "ls ~/.codex/thread-writer-locks"))); n != 2 {
		t.Errorf("the app-server has %d threads: the mail has waited for the end of the other one", n)
	}
	eventually(t, func() bool { return listed(l, "cody").Now.Does == sessions.Idle }) // the ring's turn has just ended
	for _, r := range model.Turns() {
		if len(r.Find("word-closed")) > 0 {
			t.Errorf("a turn in a folder that nobody trusts:\n%s", r)
		}
	}
}

// A turn that its person interrupts runs no hook any more: the mail comes when the thread is idle
// again.
func TestMailOfAnInterruptedTurnIsReadAfterIt(t *testing.T) {
	t.Parallel()
	l, model, p := codexAt(t, "")
	never := make(chan struct{})
	t.Cleanup(func() { close(never) })
	model.Script(lab.Say("Too late.").After(never), lab.Say("Woken."))
	p.Submit("prompt-two")
	model.WaitText("prompt-two")
	l.Run("sh", "-c", sendAs("birch", "cody", "meanwhile"))
	p.WaitShown("esc to interrupt") // its daemon asks the model before the terminal knows of the turn
	p.Send(lab.Esc)
	once(t, model.WaitText("word-meanwhile"), "word-meanwhile\n")
	p.WaitScreen(0, "Woken.")
	wantRead(t, l, "id-meanwhile", "read by server")
}

// After /quit Codex keeps the thread for a minute, and would run a turn in it that nobody sees.
func TestACodexThatNoTerminalShowsIsNotWokenBeforeItIsBack(t *testing.T) {
	t.Parallel()
	l, model, p := codexAt(t, "")
	thread := model.WaitText("prompt-one").CodexThread()
	l.Run(c2c(), "notify", "cody", "--when", "ended", "--session-id", "birch")
	p.Submit("/quit")
	p.Wait()
	eventually(t, func() bool {
		return strings.Contains(l.Run(c2c(), "poll-inbox", "--peek", "--session-id", "birch"), "cody has ended")
	})
	if got := listed(l, "cody"); got.Now.Does != sessions.Away { // Codex would still run a turn in it
		t.Errorf("%+v", got)
	}
	l.Run("sh", "-c", sendAs("birch", "cody", "meanwhile"))
	l.WaitFile(".c2c/repos/*/broker/broker.log", `"outcome":"away"`)
	if got := status(l, "id-meanwhile"); !strings.Contains(got, "queued") || !strings.Contains(got, "no terminal shows the session") {
		t.Errorf("status %q", got)
	}
	if got := l.Run(c2c(), "list"); !strings.Contains(got, "away") {
		t.Errorf("list\n%s", got)
	}
	for _, r := range model.Turns() {
		if len(r.Find("word-meanwhile")) > 0 {
			t.Errorf("a turn that nobody sees:\n%s", r)
		}
	}
	model.Script(lab.Say("Woken."))
	l.CodexTUI("resume", thread)
	once(t, model.WaitText("word-meanwhile"), "word-meanwhile\n")
	wantRings(t, l, 1)
}

// A terminal in which its person chooses a thread shows none.
func TestACodexIsNotWokenWhileItsPersonChoosesAThread(t *testing.T) {
	t.Parallel()
	l, model, p := codexAt(t, "")
	p.Submit("/quit")
	p.Wait()
	p = l.CodexTUI("resume")
	p.WaitScreen(0, "prompt-one") // in the list
	l.Run("sh", "-c", sendAs("birch", "cody", "meanwhile"))
	l.WaitFile(".c2c/repos/*/broker/broker.log", `"outcome":"away"`)
	for _, r := range model.Turns() {
		if len(r.Find("word-meanwhile")) > 0 {
			t.Errorf("a turn that nobody sees:\n%s", r)
		}
	}
	model.Script(lab.Say("Chosen."), lab.Say("Read."))
	p.Send(lab.Enter)
	p.WaitScreen(0, "Registered.")
	p.Submit("prompt-two")
	once(t, model.WaitText("word-meanwhile"), "word-meanwhile\n")
}

// Who wants a thread to work without a terminal says so.
func TestAnUnattendedCodexIsWokenWithoutATerminal(t *testing.T) {
	t.Parallel()
	l, model, p := codexAt(t, "")
	l.Run(c2c(), "register", "--unattended", "--session-id", "cody")
	p.Submit("/quit")
	p.Wait()
	model.Script(lab.Say("Woken."))
	l.Run("sh", "-c", sendAs("birch", "cody", "meanwhile"))
	once(t, model.WaitText("word-meanwhile"), "word-meanwhile\n")
}

// Nobody has typed into either of two terminals of one daemon.
func TestTwoCodexThatWereNeverPromptedAreWoken(t *testing.T) {
	t.Parallel()
	l, model := codexLab(t, "")
	model.Answer(func(r *lab.Request) (lab.Reply, bool) { return lab.Say("Woken."), true })
	l.CodexTUI()
	l.CodexTUI()
	var aliases []string
	eventually(t, func() bool {
		aliases = nil
		for _, s := range everyListed(l) {
			if s.Client == string(lab.Codex) {
				aliases = append(aliases, s.Alias)
			}
		}
		return len(aliases) == 2
	})
	for _, alias := range aliases {
		if got := listed(l, alias); got.Now.Does == sessions.Away {
			t.Errorf("%s is %+v", alias, got.Now)
		}
		l.Run("sh", "-c", sendAs("birch", alias, alias))
		once(t, model.WaitText("word-"+alias), "word-"+alias+"\n")
	}
	wantRead(t, l, "id-"+aliases[0], "read by server")
}
