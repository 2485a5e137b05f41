package e2e

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"c2c/e2e/lab"
	"c2c/sessions"
)

func opencodeTool(tool string, input map[string]any) lab.Reply {
	return lab.CallMCP(lab.OpenCode, "c2c", tool, input)
}

// opencodeHas is a command of its model that ends when the word's mail is in the session: it comes
// with the next step.
func opencodeHas(word string) lab.Reply {
	const until = "until grep -q 'word-[%s]%s' ~/.local/share/opencode/opencode.db*; do sleep 0.1; done" // no word of the command itself
	return lab.Call("bash", map[string]any{"command": fmt.Sprintf(until, word[:1], word[1:]), "description": "work"})
}

// opencodeLab has an OpenCode that c2c is installed in, and a birch who writes.
func opencodeLab(t *testing.T, settings map[string]any) (*lab.Lab, *lab.Model) {
	t.Helper()
	l, model := newLab(t), lab.NewModel(t)
	l.SeedOpenCode(model, settings)
	l.Run(c2c(), "install", "opencode")
	l.Run(c2c(), "register", "birch", "--session-id", "birch")
	return l, model
}

// opencodeAt has an idle OpenCode amber.
func opencodeAt(t *testing.T, settings map[string]any) (*lab.Lab, *lab.Model, *lab.Proc) {
	t.Helper()
	l, model := opencodeLab(t, settings)
	model.Script(opencodeTool("me", map[string]any{"alias": "amber"}), lab.Say("Registered."))
	p := l.OpenCodeTUI()
	p.Submit("prompt-one")
	p.WaitShown("Registered.")
	return l, model, p
}

func TestIdleOpenCodeIsWoken(t *testing.T) {
	t.Parallel()
	l, model, p := opencodeAt(t, nil)
	wakes(t, l, model, p, func() {}, "amber", "user", "read by plugin")
}

// Mail that waited before the window was there, and mail that comes while it shows its home screen:
// there is no session yet, so it begins one, which the window shows.
func TestMailOnTheHomeScreenOfOpenCodeBeginsASession(t *testing.T) {
	t.Parallel()
	l, model := opencodeLab(t, nil)
	l.Run(c2c(), "register", "amber", "--session-id", "amber")
	l.Run("sh", "-c", sendAs("birch", "amber", "before"))
	model.Script(lab.Say("Woken."), lab.Say("Answered."))
	first := l.Terminal(l.OpenCodeEnv(), c2c(), "start", "--alias", "amber", "opencode")
	first.WaitShown("Woken.")
	first.Submit("prompt-one")
	first.WaitShown("Answered.")
	onlyOnce(t, model.Turns(), "word-before", "user")
	wantRead(t, l, "id-before", "read by plugin")

	second := l.Terminal(l.OpenCodeEnv(), c2c(), "start", "--alias", "coral", "opencode")
	second.WaitShown("Ask anything")
	second.Send("my-draft")
	second.WaitShown("my-draft")
	model.Script(lab.Say("Woken too."), lab.Say("Answered too."))
	l.Run("sh", "-c", sendAs("birch", "coral", "meanwhile"))
	second.WaitShown("Woken too.")
	second.WaitShown("my-draft")
	second.Send(lab.Enter)
	second.WaitShown("Answered too.")
	onlyOnce(t, model.Turns()[2:], "word-meanwhile", "user")
	onlyOnce(t, model.Turns()[2:], "my-draft", "user")
	wantRead(t, l, "id-meanwhile", "read by plugin")
	wantMailboxes(t, l, lab.OpenCode, 2)
}

func TestMailThatWakesNobodyComesWithTheNextTurnOfOpenCode(t *testing.T) {
	t.Parallel()
	l, model, p := opencodeAt(t, nil)
	comesWithTheNextTurn(t, l, model, p)
}

// comesWithTheNextTurn sends mail that does not wake amber, and mail while it does not want to be
// disturbed.
func comesWithTheNextTurn(t *testing.T, l *lab.Lab, model *lab.Model, p *lab.Proc) {
	t.Helper()
	model.Answer(func(*lab.Request) (lab.Reply, bool) { return lab.Say("Said."), true })
	for _, word := range []string{"deferred", "quiet"} {
		does(l, "amber", sessions.Idle)
		option := " --deferrable"
		if word == "quiet" {
			option = ""
			l.Run(c2c(), "dnd", "on", "--session-id", "amber")
		}
		l.Run("sh", "-c", sendAs("birch", "amber", word)+option)
		if got := status(l, "id-"+word); !strings.Contains(got, "queued") {
			t.Errorf("%s is %s", word, got)
		}
		p.Submit("prompt-" + word)
		once(t, model.WaitText("word-"+word), "word-"+word)
		wantRead(t, l, "id-"+word, "read by plugin")
	}
}

// A window that was started with arguments may show something else than the home screen. c2c does
// not type into it, so nothing in its prompt is in the way.
func TestMailForAnOpenCodeWithoutASessionComesWithItsFirstPrompt(t *testing.T) {
	t.Parallel()
	l, model := opencodeLab(t, nil)
	p := l.Terminal(l.OpenCodeEnv(), c2c(), "start", "--alias", "amber", "opencode", "--", "--model", "lab/lab-model")
	p.WaitShown("Ask anything")
	l.Run("sh", "-c", sendAs("birch", "amber", "meanwhile"))
	if got := status(l, "id-meanwhile"); !strings.Contains(got, "queued") {
		t.Errorf("status %q", got)
	}
	p.Submit("prompt-one")
	once(t, model.WaitText("word-meanwhile"), "word-meanwhile")
	wantRead(t, l, "id-meanwhile", "read by plugin")
	if log := l.Run("sh", "-c", "cat ~/.c2c/repos/*/broker/broker.log"); strings.Contains(log, `"method":"terminal"`) {
		t.Errorf("its terminal was tried: %s", log)
	}
}

// slowPlugin has the store of mail take its time: until the person's prompt is on its way too, and
// then half a second.
const slowPlugin = `
let prompted = () => {}
export const Slow = async () => ({
  "chat.message": async (_: any, output: any) => {
    if (!output.parts.some((part: any) => part.metadata?.c2c)) return prompted()
    const next = new Promise<void>((done) => (prompted = done))
    await Bun.write(process.env.HOME + "/mail-waits", "here")
    await next
    await new Promise((done) => setTimeout(done, 500))
  },
})
`

// OpenCode gives a message its id before it stores it, and ends a turn when the newest id is
// answered. If the prompt was stored first, nobody would ask the model for the mail.
func TestMailAndAPromptThatComeAtOnceAreBothAnswered(t *testing.T) {
	t.Parallel()
	l, model := opencodeLab(t, nil)
	l.Write(".config/opencode/plugins/a.ts", slowPlugin)
	model.Script(opencodeTool("me", map[string]any{"alias": "amber"}), lab.Say("Registered."))
	p := l.OpenCodeTUI()
	p.Submit("prompt-one")
	p.WaitShown("Registered.")
	l.Run("sh", "-c", sendAs("birch", "amber", "meanwhile"))
	l.WaitFile("mail-waits", "here")
	p.Submit("prompt-two")
	once(t, model.WaitText("word-meanwhile"), "word-meanwhile")
	once(t, model.WaitText("prompt-two"), "prompt-two")
	wantRead(t, l, "id-meanwhile", "read by plugin")
}

// Mail joins the turn that runs, behind the tool's result.
func TestABusyOpenCodeHasItsMailInTheSameTurn(t *testing.T) {
	t.Parallel()
	l, model, p := opencodeAt(t, nil)
	release := make(chan struct{})
	model.Script(lab.Call("bash", map[string]any{"command": sendAs("birch", "amber", "meanwhile"), "description": "send"}).After(release),
		opencodeHas("meanwhile"), lab.Say("Finished."))
	p.Submit("prompt-two")
	model.WaitText("prompt-two")
	close(release)
	r := model.WaitText("word-meanwhile")
	once(t, r, "word-meanwhile")
	p.WaitShown("Finished.")
	seesRecorded(t, l, p, lab.OpenCode, "turn", "word-meanwhile")
	onlyOnce(t, model.Turns(), "word-meanwhile", "user")
	wantRead(t, l, "id-meanwhile", "read by plugin")
	wantMailboxes(t, l, lab.OpenCode, 1)
}

// It cancels each call that was answered. And what one of its calls handed over, its plugin does
// not put.
func TestACallThatOpenCodeCancelsAfterwardsHandsOverOnce(t *testing.T) {
	t.Parallel()
	l, model, p := opencodeAt(t, nil)
	// While it is not to be disturbed its plugin leaves the mail to the call.
	model.Script(lab.Call("bash", map[string]any{"command": c2c() + " dnd on && " + sendAs("birch", "amber", "meanwhile"), "description": "send"}),
		opencodeTool("poll_inbox", map[string]any{}), opencodeTool("poll_inbox", map[string]any{}),
		lab.Call("bash", map[string]any{"command": c2c() + " dnd off", "description": "ring again"}), lab.Say("Finished."), lab.Say("Answered."))
	p.Submit("prompt-two")
	p.WaitShown("Finished.")
	p.Submit("prompt-three")
	p.WaitShown("Answered.")
	onlyOnce(t, model.Turns(), "word-meanwhile", "tool")
	wantRead(t, l, "id-meanwhile", "read by")
}

// Its tools and its shells speak for the same session, and a new one has a mailbox of its own.
func TestEachSessionOfOpenCodeHasOneMailbox(t *testing.T) {
	t.Parallel()
	l, model, p := opencodeAt(t, nil)
	model.Script(lab.Call("bash", map[string]any{"command": c2c() + " whoami", "description": "who"}), opencodeTool("me", map[string]any{}), lab.Say("Known."))
	p.Submit("prompt-two")
	p.WaitShown("Known.")
	answersAreAmbers(t, model, 2)
	clears(p, "/new", "Known.", "Ask anything")
	model.Script(opencodeTool("me", map[string]any{"alias": "coral"}),
		lab.Call("bash", map[string]any{"command": c2c() + " whoami", "description": "who"}), lab.Say("Registered coral."))
	p.Submit("prompt-three")
	p.WaitShown("Registered coral.")
	if got := model.Turns()[len(model.Turns())-1].Find("coral (session "); len(got) != 1 {
		t.Errorf("its shell does not say that it is coral, but %+v", got)
	}
	wantMailboxes(t, l, lab.OpenCode, 2)
	model.Script(lab.Say("Woken."))
	l.Run("sh", "-c", sendAs("birch", "coral", "newer"))
	if r := model.WaitText("word-newer"); len(r.Find("prompt-one")) > 0 {
		t.Errorf("the mail went to the older session:\n%s", r)
	}
	wantRead(t, l, "id-newer", "read by plugin")
	// Nobody looks at the older one now.
	l.Run("sh", "-c", sendAs("birch", "amber", "older"))
	eventually(t, func() bool { return strings.Contains(l.Run(c2c(), "list"), "away") })
	if list := l.Run(c2c(), "list"); !strings.Contains(list, "away") {
		t.Errorf("the session that nobody sees is not away:\n%s", list)
	}
	if len(model.Turns()[len(model.Turns())-1].Find("word-older")) > 0 {
		t.Error("a session that nobody sees was woken")
	}
}

// A subagent acts for its session, has no mailbox and is given no mail.
func TestASubagentOfOpenCodeHasNoMailbox(t *testing.T) {
	t.Parallel()
	l, model, p := opencodeAt(t, nil)
	left := inside(model, "prompt-one", lab.Call("bash", map[string]any{"command": sendAs("birch", "amber", "meanwhile"), "description": "send"}),
		opencodeTool("me", map[string]any{}), lab.Say("Subagent says done."))
	model.Script(lab.Call("task", map[string]any{"description": "work", "prompt": "prompt-of-the-subagent", "subagent_type": "general"}), lab.Say("Finished."))
	p.Submit("prompt-two")
	p.WaitShown("Finished.")
	model.WaitText("word-meanwhile")
	wantRead(t, l, "id-meanwhile", "read by plugin")
	mailStaysOutside(t, l, model, lab.OpenCode, "prompt-one", left)
}

// busyOpenCode runs a command for longer than a test, and has been sent mail.
func busyOpenCode(t *testing.T) (*lab.Lab, *lab.Model, *lab.Proc) {
	t.Helper()
	l, model, p := opencodeAt(t, nil)
	model.Script(lab.Call("bash", map[string]any{"command": "sleep 60", "description": "work"}))
	p.Submit("prompt-two")
	model.WaitText("prompt-two")
	l.Run("sh", "-c", sendAs("birch", "amber", "meanwhile"))
	return l, model, p
}

// Killed when the client has stored the mail and before its model had it: once all the same.
func TestAKilledOpenCodeHasItsMailOnce(t *testing.T) {
	t.Parallel()
	l, model, p := busyOpenCode(t)
	eventually(t, func() bool { return strings.Contains(status(l, "id-meanwhile"), "handed") })
	l.WaitFile(".local/share/opencode/opencode.db*", "word-meanwhile")
	p.Kill()
	eventually(t, func() bool { return strings.Contains(status(l, "id-meanwhile"), "queued") })
	p = l.Terminal(l.OpenCodeEnv(), "/usr/bin/env", "opencode", "--continue")
	p.WaitShown("prompt-two") // the session is there
	model.Script(lab.Say("Back."))
	p.Submit("prompt-three")
	p.WaitShown("Back.")
	wantRead(t, l, "id-meanwhile", "read by plugin")
	onlyOnce(t, model.Turns(), "word-meanwhile", "user")
	wantMailboxes(t, l, lab.OpenCode, 1)
}

// Its plugin's c2c killed while it gives the mail to a client that does not read, and when the mail
// is put: once all the same.
func TestAKilledPluginOfOpenCodeCostsNoMail(t *testing.T) {
	t.Parallel()
	l, model, p := opencodeAt(t, nil)
	model.Script(lab.Say("Woken."))
	if err := syscall.Kill(p.Pid(), syscall.SIGSTOP); err != nil { // what it is offered it takes later
		t.Fatal(err)
	}
	body := sized(200_000, "x") // more than a pipe holds
	l.Write("letter", body)
	l.Run("sh", "-c", "C2C_MCP_SESSION_ID=birch "+c2c()+" send amber --id id-leased -F "+l.Home+"/letter")
	eventually(t, func() bool { return strings.Contains(status(l, "id-leased"), "handed") })
	killPlugin(t, p)
	if err := syscall.Kill(p.Pid(), syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	p.WaitShown("Woken.")
	wantRead(t, l, "id-leased", "read by plugin")

	model.Script(lab.Call("bash", map[string]any{"command": "until test -e go; do sleep 0.1; done", "description": "work"}), lab.Say("Finished."))
	p.Submit("prompt-two")
	model.WaitText("prompt-two")
	l.Run("sh", "-c", sendAs("birch", "amber", "put"))
	p.WaitShown("word-put")
	killPlugin(t, p)
	l.WriteProject("go", "")
	p.WaitShown("Finished.")
	wantRead(t, l, "id-put", "read by plugin")
	for _, text := range []string{body, "word-put"} {
		onlyOnce(t, model.Turns(), text, "user")
	}
}

// Undone before its model had it: it comes again, once.
func TestMailThatIsUndoneInOpenCodeComesAgain(t *testing.T) {
	t.Parallel()
	l, model, p := busyOpenCode(t)
	p.WaitShown("word-meanwhile")
	p.Command("/undo") // it ends the turn, and puts the text into the prompt
	p.WaitShown("1 message reverted")
	p.Send(lab.CtrlC)
	p.WaitGone("word-meanwhile")
	model.Script(lab.Say("Answered."))
	p.Submit("prompt-three")
	p.WaitShown("Answered.")
	if eventually(t, func() bool { return strings.Contains(status(l, "id-meanwhile"), "undone") }); len(model.WaitText("prompt-three").Find("word-meanwhile")) > 0 {
		t.Error("the model has what was undone")
	}
	model.Script(lab.Say("Woken."))
	model.WaitText("word-meanwhile")
	p.WaitShown("Woken.")
	wantRead(t, l, "id-meanwhile", "read by plugin")
	onlyOnce(t, model.Turns(), "word-meanwhile", "user")
}

// A dialog stays for the person; the mail comes behind the answer.
func TestADialogOfOpenCodeStaysUntouched(t *testing.T) {
	t.Parallel()
	l, model, p := opencodeAt(t, map[string]any{"permission": map[string]any{"bash": "ask"}})
	model.Script(lab.Call("bash", map[string]any{"command": "touch ran", "description": "touch"}), lab.Say("Finished."))
	p.Submit("prompt-two")
	p.WaitShown("Allow once")
	if row := does(l, "amber", sessions.Waiting); row.Now.Known != "plugin" {
		t.Errorf("listed behind the dialog as %+v", row)
	}
	l.Run("sh", "-c", sendAs("birch", "amber", "meanwhile"))
	eventually(t, func() bool { return strings.Contains(status(l, "id-meanwhile"), "handed") })
	if _, err := l.Try("test", "!", "-e", "ran"); err != nil {
		t.Error("the command ran though nobody allowed it")
	}
	seesRecorded(t, l, p, lab.OpenCode, "dialog", "word-meanwhile")
	p.Send(lab.Enter)
	r := model.WaitText("word-meanwhile")
	once(t, r, "word-meanwhile")
	p.WaitShown("Finished.")
	wantRead(t, l, "id-meanwhile", "read by plugin")
	does(l, "amber", sessions.Idle)
}

func TestUninstallRestoresOpenCode(t *testing.T) {
	t.Parallel()
	l, model := newLab(t), lab.NewModel(t)
	l.SeedOpenCode(model, nil)
	uninstallRestores(t, l, lab.OpenCode)
}

// With --port the client makes the plugin twice, and only the second one is told of anything. With
// the plugin of the project and the one for all projects there are four.
func TestOpenCodeHasItsMailOnceHoweverManyPluginsRun(t *testing.T) {
	t.Parallel()
	l, model := newLab(t), lab.NewModel(t)
	l.SeedOpenCode(model, nil)
	l.SettleOpenCode(l.Project + "/.opencode")
	l.Run(c2c(), "install", "opencode", "--project")
	l.WriteProject(".opencode/c2c-plugin.json", `{"session_id":"birch","alias":"amber","broker_root":"/nowhere"}`)
	l.Run(c2c(), "register", "birch", "--session-id", "birch")
	model.Script(opencodeTool("me", map[string]any{}), lab.Say("Known."))
	p := l.OpenCodeTUI("--port", "0")
	p.Submit("prompt-one")
	p.WaitShown("Known.")
	if got := model.Wait(1).Last().Text; !strings.Contains(got, "amber") {
		t.Errorf("with the project's file it is %q", got)
	}
	reads := func(word string) {
		t.Helper()
		model.Script(lab.Say("Woken by " + word + "."))
		l.Run("sh", "-c", sendAs("birch", "amber", word))
		p.WaitShown("Woken by " + word + ".")
		wantRead(t, l, "id-"+word, "read by plugin")
	}
	reads("first")
	p.Kill()
	l.Run(c2c(), "install", "opencode") // it takes the project's away, which somebody has put back
	l.WriteProject(".opencode/plugins/c2c.ts", l.Read(".config/opencode/plugins/c2c.ts"))
	p = l.Terminal(l.OpenCodeEnv(), "/usr/bin/env", "opencode", "--continue", "--port", "0")
	p.WaitShown("Woken by first.") // the session is there
	model.Script(lab.Say("Continued."))
	p.Submit("prompt-two")
	p.WaitShown("Continued.")
	reads("second")
	model.Script(lab.Call("bash", map[string]any{"command": sendAs("birch", "amber", "third"), "description": "send"}),
		opencodeHas("third"), lab.Say("Finished."))
	p.Submit("prompt-three")
	p.WaitShown("Finished.")
	wantRead(t, l, "id-third", "read by plugin")
	for _, word := range []string{"first", "second", "third"} {
		onlyOnce(t, model.Turns(), "word-"+word, "user")
	}
	wantMailboxes(t, l, lab.OpenCode, 1)
}

func TestALongMessageReachesOpenCodeWhole(t *testing.T) {
	t.Parallel()
	l, model, p := opencodeAt(t, nil)
	aLongMessageComesWhole(t, l, model, p, "read by plugin")
}

// Two windows in one project, one of them with a name from c2c start: each has its own mail.
func TestTwoOpenCodesInOneProjectHaveTwoMailboxes(t *testing.T) {
	t.Parallel()
	l, model, p := opencodeAt(t, nil)
	model.Script(lab.Say("Ready."))
	second := l.Terminal(l.OpenCodeEnv(), c2c(), "start", "--alias", "coral", "opencode")
	second.WaitShown("Ask anything")
	second.Submit("prompt-of-coral")
	second.WaitShown("Ready.")
	eachWindowHasItsMail(t, l, model, p, second, "prompt-of-coral", "coral", "read by plugin")
	wantMailboxes(t, l, lab.OpenCode, 2)
}

// It answers one prompt and ends; what waited comes with it, what comes later waits.
func TestOpenCodeRunTakesItsMailAndEnds(t *testing.T) {
	t.Parallel()
	l, model := opencodeLab(t, nil)
	model.Script(opencodeTool("me", map[string]any{"alias": "amber"}),
		lab.Call("bash", map[string]any{"command": sendAs("birch", "amber", "meanwhile"), "description": "send"}),
		opencodeHas("meanwhile"), lab.Say("Finished."))
	l.OpenCodeRun("prompt-one").Wait()
	onlyOnce(t, model.Turns(), "word-meanwhile", "user")
	wantRead(t, l, "id-meanwhile", "read by plugin")
	l.Run("sh", "-c", sendAs("birch", "amber", "later"))
	eventually(t, func() bool { return strings.Contains(status(l, "id-later"), "queued") }) // its plugin may not have ended yet
	if got := status(l, "id-later"); !strings.Contains(got, "queued") {
		t.Errorf("status %s", got)
	}
	model.Script(lab.Say("Once more."))
	l.OpenCodeRun("--continue", "prompt-two").Wait()
	turns := model.Turns()
	if last := turns[len(turns)-1]; len(last.Find("word-later")) > 0 {
		wantRead(t, l, "id-later", "read by plugin")
	} else if got := status(l, "id-later"); strings.Contains(got, "read") {
		t.Errorf("status %s, and the last request is\n%s", got, last)
	}
}

// /new leads to the home screen, and no event tells of that. The turn that mail begins is seen, and
// a draft stays one.
func TestMailBehindNewIsSeenInOpenCode(t *testing.T) {
	t.Parallel()
	l, model, p := opencodeAt(t, nil)
	model.Script(lab.Say("Woken."))
	eventually(t, func() bool { return listed(l, "amber").Now.Does == sessions.Idle }) // else the mail joins the turn that ends
	clears(p, "/new", "Registered.", "ctrl+p commands")
	p.Send("half-typed-draft")
	p.WaitShown("half-typed-draft")
	l.Run("sh", "-c", sendAs("birch", "amber", "meanwhile"))
	if r := model.WaitText("word-meanwhile"); len(r.Find("half-typed-draft")) > 0 {
		t.Errorf("the draft was sent:\n%s", r)
	}
	p.WaitShown("word-meanwhile")
	p.WaitShown("Woken.")
	p.WaitShown("half-typed-draft")
	wantRead(t, l, "id-meanwhile", "read by plugin")
}

// Until its first turn, OpenCode has no conversation that could be opened again. In both cases the
// mail comes without a prompt: no event tells which conversation a window shows before its first
// prompt, so the plugin reads that in the arguments.
func TestTheStatusSaysHowToOpenAnOpenCodeAgain(t *testing.T) {
	t.Parallel()
	l, model := opencodeLab(t, nil)
	// again does what the status of a message to the absent amber says.
	again := func(word string) *lab.Proc {
		t.Helper()
		l.Run("sh", "-c", sendAs("birch", "amber", word))
		_, do, _ := strings.Cut(status(l, "id-"+word), "open it anew with c2c ")
		do, _, found := strings.Cut(do, "; then mail wakes it")
		if !found {
			t.Fatalf("status %q", status(l, "id-"+word))
		}
		return l.Terminal(l.OpenCodeEnv(), append([]string{c2c()}, strings.Fields(do)...)...)
	}
	p := l.Terminal(l.OpenCodeEnv(), c2c(), "start", "--alias", "amber", "opencode")
	p.WaitShown("Ask anything")
	p.Command("/exit")
	p.Wait()

	model.Script(lab.Say("Woken."))
	p = again("early")
	p.WaitShown("Woken.")
	wantRead(t, l, "id-early", "read by plugin")
	p.Command("/exit")
	p.Wait()

	model.Script(lab.Say("Woken again."))
	p = again("later")
	p.WaitShown("Woken again.")
	once(t, model.WaitText("word-later"), "word-early") // it is the same conversation
	wantRead(t, l, "id-later", "read by plugin")
	p.Command("/exit")
	p.Wait()

	model.Script(lab.Say("Woken at last."))
	l.Run("sh", "-c", sendAs("birch", "amber", "last"))
	p = l.Terminal(l.OpenCodeEnv(), c2c(), "start", "--alias", "amber", "opencode", "--", "--continue")
	p.WaitShown("Woken at last.")
	once(t, model.WaitText("word-last"), "word-early")
	wantRead(t, l, "id-last", "read by plugin")
	wantMailboxes(t, l, lab.OpenCode, 1)
}
