package e2e

import (
	"strings"
	"testing"

	"c2c/e2e/lab"
	"c2c/sessions"
)

func copilotTool(tool string, input map[string]any) lab.Reply {
	return lab.CallMCP(lab.Copilot, "c2c", tool, input)
}

func copilotBash(command string) lab.Reply {
	return lab.Call("bash", map[string]any{"command": command, "description": "work", "initial_wait": 30, "mode": "sync"})
}

// copilotMail is a lab whose Copilot c2c is installed in, and a birch who writes.
func copilotMail(t *testing.T, settings map[string]any) (*lab.Lab, *lab.Model) {
	t.Helper()
	l, model := newLab(t), lab.NewModel(t)
	l.SeedCopilot(settings)
	l.Run(c2c(), "install", "copilot")
	l.Run(c2c(), "register", "birch", "--session-id", "birch")
	return l, model
}

// copilotAt has an idle Copilot amber.
func copilotAt(t *testing.T, settings map[string]any, args ...string) (*lab.Lab, *lab.Model, *lab.Proc) {
	t.Helper()
	l, model := copilotMail(t, settings)
	model.Script(copilotTool("me", map[string]any{"alias": "amber"}), lab.Say("Registered."))
	p := l.CopilotTUI(model, args...)
	p.Submit("prompt-one")
	p.WaitShown("Registered.")
	copilotIdle(p)
	return l, model, p
}

// copilotIdle waits until a turn whose end is shown is over: its hook would bring the next mail.
func copilotIdle(p *lab.Proc) { p.WaitShown("? help") }

func TestIdleCopilotIsWoken(t *testing.T) {
	t.Parallel()
	l, model, p := copilotAt(t, nil)
	wakes(t, l, model, p, func() { copilotIdle(p) }, "amber", "user", "read by plugin")
}

func TestABusyCopilotHasItsMailInTheSameTurn(t *testing.T) {
	t.Parallel()
	l, model, p := copilotAt(t, nil)
	model.Script(copilotBash(sendAs("birch", "amber", "meanwhile")), copilotBash("sleep 1"), lab.Say("Finished."))
	p.Submit("prompt-two")
	once(t, model.WaitText("word-meanwhile"), "word-meanwhile")
	p.WaitShown("Finished.")
	seesRecorded(t, l, p, lab.Copilot, "turn", "word-meanwhile")
	onlyOnce(t, model.Turns(), "word-meanwhile", "user")
	wantRead(t, l, "id-meanwhile", "read by plugin")
	wantMailboxes(t, l, lab.Copilot, 1)
}

func TestMailThatWakesNobodyComesWithTheNextTurnOfCopilot(t *testing.T) {
	t.Parallel()
	l, model, p := copilotAt(t, nil)
	comesWithTheNextTurn(t, l, model, p)
}

// A message that is sent into the session while a command runs has the client push that into the
// background, and tell its model that the user did.
func TestMailLeavesTheCommandsOfCopilotAlone(t *testing.T) {
	t.Parallel()
	l, model, p := copilotAt(t, nil)
	runs := func(name string) string {
		return "touch begun-" + name + "; until test -e go-" + name + "; do sleep 0.1; done; printf 'whole-%s' " + name
	}
	two := copilotBash(runs("left"))
	two.Calls = append(two.Calls, copilotBash(runs("right")).Calls...)
	model.Script(two, lab.Say("Finished."))
	p.Submit("prompt-two")
	l.WaitFile("../proj/begun-left", "")
	l.WaitFile("../proj/begun-right", "")
	l.Run("sh", "-c", sendAs("birch", "amber", "meanwhile"))
	eventually(t, func() bool { return strings.Contains(status(l, "id-meanwhile"), "handed") })
	l.WriteProject("go-left", "")
	l.WriteProject("go-right", "")
	r := model.WaitText("word-meanwhile")
	if len(r.Find("whole-left")) != 1 || len(r.Find("whole-right")) != 1 || len(r.Find("moved to background")) > 0 {
		t.Errorf("the model does not have the results of its commands in\n%s", r)
	}
	p.WaitShown("Finished.")
	onlyOnce(t, model.Turns(), "word-meanwhile", "user")
	wantRead(t, l, "id-meanwhile", "read by plugin")
}

// Its tools and its shells speak for the same session, and after /clear there is another one.
func TestEachSessionOfCopilotHasOneMailbox(t *testing.T) {
	t.Parallel()
	l, model, p := copilotAt(t, nil)
	model.Script(copilotBash(c2c()+" whoami"), copilotTool("me", map[string]any{}), lab.Say("Known."))
	p.Submit("prompt-two")
	p.WaitShown("Known.")
	answersAreAmbers(t, model, 2)
	clears(p, "/clear", "Known.", "? help")
	model.Script(copilotTool("me", map[string]any{"alias": "coral"}), lab.Say("Registered coral."))
	p.Submit("prompt-three")
	p.WaitShown("Registered coral.")
	wantMailboxes(t, l, lab.Copilot, 2)
	model.Script(lab.Say("Woken."))
	l.Run("sh", "-c", sendAs("birch", "coral", "newer"))
	if r := model.WaitText("word-newer"); len(r.Find("prompt-one")) > 0 {
		t.Errorf("the mail went to the older session:\n%s", r)
	}
	wantRead(t, l, "id-newer", "read by plugin")
	l.Run("sh", "-c", sendAs("birch", "amber", "older"))
	if got := status(l, "id-older"); !strings.Contains(got, "queued") {
		t.Errorf("a session that was left has its mail: %s", got)
	}
}

// As in any client, the window goes on as the session with the name that it was started with.
func TestAStartedCopilotKeepsItsNameAfterClear(t *testing.T) {
	t.Parallel()
	l, model := copilotMail(t, nil)
	p := l.Terminal(l.CopilotEnv(model), c2c(), "start", "--alias", "amber", "copilot")
	p.WaitShown("? help")
	model.Script(lab.Say("Ready."))
	p.Submit("prompt-one")
	p.WaitShown("Ready.")
	copilotIdle(p)
	clears(p, "/clear", "Ready.", "? help")
	amberGoesOn(l)
	model.Script(lab.Say("Woken."))
	l.Run("sh", "-c", sendAs("birch", "amber", "meanwhile"))
	if r := model.WaitText("word-meanwhile"); len(r.Find("prompt-one")) > 0 {
		t.Errorf("the mail went to the older session:\n%s", r)
	}
	wantRead(t, l, "id-meanwhile", "read by plugin")
	wantMailboxes(t, l, lab.Copilot, 1)
}

func TestASubagentOfCopilotHasNoMailbox(t *testing.T) {
	t.Parallel()
	aSubagentOfCopilotHasNoMail(t, nil, "read by plugin")
}

func TestNoHookInASubagentOfCopilotShowsMail(t *testing.T) {
	t.Parallel()
	aSubagentOfCopilotHasNoMail(t, withoutExtensions, "read by hook")
}

func aSubagentOfCopilotHasNoMail(t *testing.T, settings map[string]any, read string) {
	t.Helper()
	l, model, p := copilotAt(t, settings)
	left := inside(model, "prompt-one", copilotBash(sendAs("birch", "amber", "meanwhile")),
		copilotTool("me", map[string]any{}), lab.Say("Subagent says done."))
	model.Script(lab.Call("task", map[string]any{"description": "work", "name": "worker", "prompt": "prompt-of-the-subagent", "agent_type": "general-purpose", "mode": "sync"}), lab.Say("Finished."))
	p.Submit("prompt-two")
	p.WaitShown("Finished.")
	model.WaitText("word-meanwhile")
	wantRead(t, l, "id-meanwhile", read)
	mailStaysOutside(t, l, model, lab.Copilot, "prompt-one", left) // the mail sends it into the background
}

// withoutExtensions are the settings of a person who has turned extensions off.
var withoutExtensions = map[string]any{"enabledFeatureFlags": map[string]any{"EXTENSIONS": false}}

func TestACopilotWithoutExtensionsHasItsMailByHooks(t *testing.T) {
	t.Parallel()
	l, model, p := copilotAt(t, withoutExtensions)
	if got := l.Read(".copilot/settings.json"); !strings.Contains(got, `"EXTENSIONS":false`) && !strings.Contains(got, `"EXTENSIONS": false`) {
		t.Errorf("its settings are %s", got)
	}
	body := sized(8000, "x")
	l.Write("letter", body)
	model.Script(copilotBash(sendAs("birch", "amber", "tool")), copilotBash("C2C_MCP_SESSION_ID=birch "+c2c()+" send amber --id id-long -F "+l.Home+"/letter"),
		lab.Say("Finished."))
	p.Submit("prompt-two")
	p.WaitShown("Finished.")
	onlyOnce(t, model.Turns(), "word-tool", "tool")
	onlyOnce(t, model.Turns(), body, "tool")

	release := make(chan struct{})
	model.Script(lab.Say("Thought.").After(release), lab.Say("Answered."))
	p.Submit("prompt-three")
	model.WaitText("prompt-three")
	l.Run("sh", "-c", sendAs("birch", "amber", "end"))
	close(release)
	p.WaitShown("Answered.")
	onlyOnce(t, model.Turns(), "word-end", "user")
	copilotIdle(p)

	// What a hook adds to a prompt has the tag of the system: mail and posts are only announced
	// there.
	l.Run(c2c(), "rooms", "create", "review", "--from", "birch")
	l.Run(c2c(), "rooms", "join", "review", "--from", "amber")
	first := posts(l, "ambient-one")
	l.Run("sh", "-c", sendAs("birch", "amber", "prompt"))
	model.Script(copilotTool("poll_inbox", map[string]any{}), lab.Say("Polled."))
	p.Submit("prompt-four")
	p.WaitShown("Polled.")
	once(t, model.WaitText("1 message waits for you: birch"), "1 message waits for you: birch")
	once(t, model.WaitText("prompt-four"), "new posts in your rooms")
	onlyOnce(t, model.Turns(), "word-prompt", "tool")
	onlyOnce(t, model.Turns(), first, "tool")

	model.Script(lab.Call("bash", map[string]any{"command": c2c() + " poll-inbox --wait --check", "description": "wait for mail", "mode": "async", "detach": false}),
		lab.Say("Waiting."), lab.Say("Woken."), lab.Say("Read."))
	p.Submit("prompt-five")
	p.WaitShown("Waiting.")
	p.WaitShown("Waiting for background shells") // its turn's hook would bring the mail
	l.Run("sh", "-c", sendAs("birch", "amber", "idle"))
	once(t, model.WaitText("word-idle"), "word-idle")
	p.WaitShown("Read.")
	for _, id := range []string{"id-tool", "id-long", "id-end", "id-idle"} {
		wantRead(t, l, id, "read by hook")
	}
	wantMailboxes(t, l, lab.Copilot, 1)
}

// Killed when the client has the mail and before its model had it: once all the same.
func TestAKilledCopilotHasItsMailOnce(t *testing.T) {
	t.Parallel()
	l, model, p := copilotAt(t, nil)
	model.Script(copilotBash("sleep 60"))
	p.Submit("prompt-two")
	model.WaitText("prompt-two")
	l.Run("sh", "-c", sendAs("birch", "amber", "meanwhile"))
	eventually(t, func() bool { return strings.Contains(status(l, "id-meanwhile"), "handed") })
	p.Kill()
	eventually(t, func() bool { return strings.Contains(status(l, "id-meanwhile"), "queued") })
	model.Script(lab.Say("Back."), lab.Say("Back again."))
	p = l.CopilotTUI(model, "--continue")
	model.WaitText("word-meanwhile")
	wantRead(t, l, "id-meanwhile", "read by plugin")
	p.Submit("prompt-three")
	p.WaitShown("Back again.")
	onlyOnce(t, model.Turns(), "word-meanwhile", "user")
	wantMailboxes(t, l, lab.Copilot, 1)
}

// A hook allows the tools of c2c, and no other. Its answer would win over the person's own option,
// so it gives none then.
func TestCopilotAsksNobodyBeforeAToolOfC2C(t *testing.T) {
	t.Parallel()
	l, model, p := copilotAt(t, map[string]any{"defaultPermissionMode": "manual"})
	model.Script(copilotBash("touch ran"), lab.Say("Finished."))
	p.Submit("prompt-two")
	p.WaitShown("Do you want to run this command?")
	p.Send(lab.Enter)
	p.WaitShown("Finished.")
	q := l.CopilotTUI(model, "--deny-tool", "c2c")
	model.Script(copilotTool("list", map[string]any{}), lab.Say("Denied."))
	q.Submit("prompt-of-q")
	q.WaitShown("Denied.")
	if r := last(model); len(r.Find("ALIAS")) > 0 || !strings.Contains(strings.ToLower(r.Last().Text), "denied") {
		t.Errorf("its person has denied the tool:\n%s", r)
	}
}

// askingCopilot shows a dialog, and has been sent mail.
func askingCopilot(t *testing.T) (*lab.Lab, *lab.Model, *lab.Proc) {
	t.Helper()
	l, model, p := copilotAt(t, map[string]any{"defaultPermissionMode": "manual"}, "--allow-tool", "c2c")
	model.Script(copilotBash("touch ran && until test -e go; do sleep 0.1; done"), lab.Say("Finished."))
	p.Submit("prompt-two")
	p.WaitShown("Do you want to run this command?")
	does(l, "amber", sessions.Waiting)
	l.Run("sh", "-c", sendAs("birch", "amber", "meanwhile"))
	return l, model, p
}

// Killed when it has the mail and the client shows a dialog: the hook behind the tool runs before
// it is started again.
func TestAKilledPluginOfCopilotShowsItsMailOnce(t *testing.T) {
	t.Parallel()
	l, model, p := askingCopilot(t)
	eventually(t, func() bool { return strings.Contains(status(l, "id-meanwhile"), "handed") })
	killPlugin(t, p)
	l.WriteProject("go", "")
	p.Send(lab.Enter)
	p.WaitShown("Finished.")
	wantRead(t, l, "id-meanwhile", "read by plugin")
	onlyOnce(t, model.Turns(), "word-meanwhile", "user")
}

func TestADialogOfCopilotStaysUntouched(t *testing.T) {
	t.Parallel()
	l, model, p := askingCopilot(t)
	eventually(t, func() bool { return strings.Contains(status(l, "id-meanwhile"), "handed") })
	if _, err := l.Try("test", "!", "-e", "ran"); err != nil {
		t.Error("the command ran though nobody allowed it")
	}
	p.Send(lab.Enter)
	does(l, "amber", sessions.Busy) // what its person has allowed runs
	l.WriteProject("go", "")
	once(t, model.WaitText("word-meanwhile"), "word-meanwhile")
	p.WaitShown("Finished.")
	seesRecorded(t, l, p, lab.Copilot, "dialog", "word-meanwhile")
	wantRead(t, l, "id-meanwhile", "read by plugin")
	does(l, "amber", sessions.Idle)
}

func TestTwoCopilotsInOneProjectHaveTwoMailboxes(t *testing.T) {
	t.Parallel()
	l, model, p := copilotAt(t, nil)
	model.Script(lab.Say("Ready."))
	second := l.Terminal(l.CopilotEnv(model), c2c(), "start", "--alias", "coral", "copilot")
	second.WaitShown("? help")
	second.Submit("prompt-of-coral")
	second.WaitShown("Ready.")
	eachWindowHasItsMail(t, l, model, p, second, "prompt-of-coral", "coral", "read by plugin")
	wantMailboxes(t, l, lab.Copilot, 2)
}

func TestALongMessageReachesCopilotWhole(t *testing.T) {
	t.Parallel()
	l, model, p := copilotAt(t, nil)
	aLongMessageComesWhole(t, l, model, p, "read by plugin")
}

func TestUninstallRestoresCopilot(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.SeedCopilot(nil)
	uninstallRestores(t, l, lab.Copilot)
}
