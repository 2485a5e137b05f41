package e2e

import (
	"strings"
	"testing"

	"c2c/e2e/lab"
	"c2c/sessions"
)

func geminiTool(tool string, input map[string]any) lab.Reply {
	return lab.CallMCP(lab.Gemini, "c2c", tool, input)
}

func geminiShell(command string) lab.Reply {
	return lab.Call("run_shell_command", map[string]any{"command": command, "description": "run it"})
}

// geminiMail is a lab whose Gemini c2c is installed in, and a birch who writes.
func geminiMail(t *testing.T, settings map[string]any) (*lab.Lab, *lab.Model) {
	t.Helper()
	l, model := newLab(t), lab.NewModel(t)
	l.SeedGemini(settings)
	l.Run(c2c(), "install", "gemini")
	l.Run(c2c(), "register", "birch", "--session-id", "birch")
	return l, model
}

// geminiAt has an idle Gemini amber.
func geminiAt(t *testing.T, settings map[string]any, args ...string) (*lab.Lab, *lab.Model, *lab.Proc) {
	t.Helper()
	l, model := geminiMail(t, settings)
	p := geminiRegisters(l, model, "amber", args...)
	return l, model, p
}

func geminiRegisters(l *lab.Lab, model *lab.Model, alias string, args ...string) *lab.Proc {
	model.Script(geminiTool("me", map[string]any{"alias": alias}), lab.Say("Registered "+alias+"."))
	p := l.GeminiTUI(model, args...)
	p.Submit("prompt-of-" + alias)
	p.WaitShown("Registered " + alias + ".")
	hooksSayIdle(l, alias)
	return p
}

// A tool's hook brings mail to the turn that runs. What a tool that fails adds would be lost: the
// next one brings it.
func TestABusyGeminiHasItsMailInTheSameTurn(t *testing.T) {
	t.Parallel()
	l, model, p := geminiAt(t, nil)
	release := make(chan struct{})
	model.Script(lab.Call("read_file", map[string]any{"file_path": "nothing-there"}).After(release), geminiShell("true"), lab.Say("Finished."))
	p.Submit("prompt-two")
	model.WaitText("prompt-two")
	l.Run("sh", "-c", sendAs("birch", "amber", "meanwhile"))
	close(release)
	r := model.WaitText("word-meanwhile")
	item := once(t, r, "word-meanwhile")
	if item.Role != "tool" || item.Name != "run_shell_command" || !strings.Contains(item.Text, `&lt;c2c event="message"`) {
		t.Errorf("shown as %+v", item)
	}
	if strings.Count(item.Text, "stand for angle brackets") != 1 {
		t.Errorf("nothing explains the escapes: %+v", item)
	}
	p.WaitShown("Finished.")
	seesRecorded(t, l, p, lab.Gemini, "turn", "word-meanwhile")
	onlyOnce(t, model.Turns(), "word-meanwhile", "tool")
	wantRead(t, l, "id-meanwhile", "read by hook")
	wantMailboxes(t, l, lab.Gemini, 1)
}

// Without a tool call the end of the turn brings it.
func TestMailAtTheEndOfATurnOfGeminiContinuesIt(t *testing.T) {
	t.Parallel()
	l, model, p := geminiAt(t, nil)
	release := make(chan struct{})
	model.Script(lab.Say("Thought.").After(release), lab.Say("Answered."))
	p.Submit("prompt-two")
	model.WaitText("prompt-two")
	l.Run("sh", "-c", sendAs("birch", "amber", "meanwhile"))
	close(release)
	r := model.WaitText("word-meanwhile")
	if item := once(t, r, "word-meanwhile"); item.Role != "user" || len(r.Find("Thought.")) != 1 {
		t.Errorf("shown as %+v", item)
	}
	p.WaitShown("Answered.")
	onlyOnce(t, model.Turns(), "word-meanwhile", "user")
	wantRead(t, l, "id-meanwhile", "read by hook")
}

func TestAPromptBringsAnIdleGeminiItsMail(t *testing.T) {
	t.Parallel()
	l, model, p := geminiAt(t, nil)
	l.Run("sh", "-c", sendAs("birch", "amber", "meanwhile"))
	if got := status(l, "id-meanwhile"); !strings.Contains(got, "queued") {
		t.Errorf("status %s", got)
	}
	model.Script(lab.Say("Answered."))
	p.Submit("prompt-two")
	p.WaitShown("Answered.")
	if item := once(t, model.WaitText("prompt-two"), "word-meanwhile"); item.Role != "user" || !strings.HasPrefix(item.Text, "<hook_context>") {
		t.Errorf("shown as %+v", item)
	}
	onlyOnce(t, model.Turns(), "word-meanwhile", "user")
	wantRead(t, l, "id-meanwhile", "read by hook")
}

// Its tools and its shells speak for the same session, after /clear too; a resume finds the mailbox
// again.
func TestAWindowOfGeminiHasOneMailbox(t *testing.T) {
	t.Parallel()
	l, model, p := geminiAt(t, nil)
	whoSays := func(prompt string) {
		t.Helper()
		model.Script(geminiShell(c2c()+" whoami"), geminiTool("me", map[string]any{}), lab.Say("Known: "+prompt))
		p.Submit(prompt)
		p.WaitShown("Known: " + prompt)
		answersAreAmbers(t, model, 2)
		hooksSayIdle(l, "amber")
		wantMailboxes(t, l, lab.Gemini, 1)
	}
	whoSays("prompt-two")
	clears(p, "/clear", "Known: prompt-two", "Type your message")
	l.Run("sh", "-c", sendAs("birch", "amber", "newer"))
	whoSays("prompt-three")
	if r := model.WaitText("word-newer"); len(r.Find("prompt-two")) > 0 {
		t.Errorf("the mail went to the session before /clear:\n%s", r)
	}
	p.Command("/quit")
	p.Wait()
	l.Run("sh", "-c", sendAs("birch", "amber", "later"))
	p = l.GeminiTUI(model, "--resume")
	p.WaitShown("Known: prompt-three")
	whoSays("prompt-four")
	if r := model.WaitText("word-later"); len(r.Find("prompt-three")) == 0 {
		t.Errorf("the mail is not in the session that was resumed:\n%s", r)
	}
	wantRead(t, l, "id-later", "read by hook")
}

func TestTwoGeminisInOneProjectHaveTwoMailboxes(t *testing.T) {
	t.Parallel()
	l, model, p := geminiAt(t, nil)
	second := geminiRegisters(l, model, "coral")
	wantMailboxes(t, l, lab.Gemini, 2)
	eachPromptBringsItsMail(t, l, model, p, second)
}

// Its tools' hooks run inside a subagent, too, and are told nothing of it. Its end brings the mail
// to the session.
func TestASubagentOfGeminiHasNoMailbox(t *testing.T) {
	t.Parallel()
	l, model, p := geminiAt(t, nil)
	left := inside(model, "prompt-of-amber", geminiTool("me", map[string]any{}),
		geminiShell(sendAs("birch", "amber", "meanwhile")), geminiShell("true"),
		lab.Call("complete_task", map[string]any{"result": map[string]any{"response": "The subagent is done."}}))
	model.Script(lab.Call("invoke_agent", map[string]any{"agent_name": "generalist", "prompt": "prompt-of-the-subagent"}),
		geminiShell(sendAs("birch", "amber", "afterwards")), lab.Say("Finished."))
	p.Submit("prompt-two")
	p.WaitShown("Finished.")
	mailStaysOutside(t, l, model, lab.Gemini, "prompt-of-amber", left)
	for word, tool := range map[string]string{"meanwhile": "invoke_agent", "afterwards": "run_shell_command"} {
		if item := once(t, model.WaitText("word-"+word), "word-"+word); item.Role != "tool" || item.Name != tool {
			t.Errorf("shown as %+v", item)
		}
		onlyOnce(t, model.Turns(), "word-"+word, "tool")
		wantRead(t, l, "id-"+word, "read by hook")
	}
}

// Esc makes it forget the turn. Its end runs a hook all the same, and what that hook shows would be
// lost.
func TestMailOfAnInterruptedGeminiIsReadAfterIt(t *testing.T) {
	t.Parallel()
	l, model, p := geminiAt(t, nil)
	never := make(chan struct{})
	t.Cleanup(func() { close(never) })
	model.Script(lab.Say("Too late.").After(never), lab.Say("Answered."))
	p.Submit("prompt-two")
	model.WaitText("prompt-two")
	l.Run("sh", "-c", sendAs("birch", "amber", "meanwhile"))
	p.Send(lab.Esc)
	p.WaitShown("Request cancelled.")
	hooksSayIdle(l, "amber")
	p.Submit("prompt-three")
	p.WaitShown("Answered.")
	onlyOnce(t, model.Turns(), "word-meanwhile", "user")
	wantRead(t, l, "id-meanwhile", "read by hook")
}

// It forgets mail that it has had in that turn, too, and is given it once more.
func TestGeminiIsGivenAgainWhatEscHasTakenFromIt(t *testing.T) {
	t.Parallel()
	l, model, p := geminiAt(t, nil)
	never := make(chan struct{})
	t.Cleanup(func() { close(never) })
	model.Script(geminiShell(sendAs("birch", "amber", "meanwhile")), lab.Say("Too late.").After(never), lab.Say("Answered."))
	p.Submit("prompt-two")
	model.WaitText("word-meanwhile")
	wantUnanswered(t, l, "id-meanwhile", "handed by hook")
	p.Send(lab.Esc)
	p.WaitShown("Answered.") // behind a tool call it asks its model once more by itself
	turns := model.Turns()
	once(t, turns[len(turns)-1], "word-meanwhile\n")
	wantRead(t, l, "id-meanwhile", "read by hook")
}

// A dialog stays for the person; the mail comes behind the answer.
func TestADialogOfGeminiStaysUntouched(t *testing.T) {
	t.Parallel()
	l, model, p := geminiAt(t, nil, "--approval-mode=default")
	model.Script(geminiShell("touch ran"), lab.Say("Finished."))
	p.Submit("prompt-two")
	p.WaitShown("Allow once")
	does(l, "amber", sessions.Waiting)
	l.Run("sh", "-c", sendAs("birch", "amber", "meanwhile"))
	if got := status(l, "id-meanwhile"); !strings.Contains(got, "queued") {
		t.Errorf("status %s", got)
	}
	if _, err := l.Try("test", "!", "-e", "ran"); err != nil {
		t.Error("the command ran though nobody allowed it")
	}
	p.Send(lab.Enter)
	once(t, model.WaitText("word-meanwhile"), "word-meanwhile")
	p.WaitShown("Finished.")
	seesRecorded(t, l, p, lab.Gemini, "dialog", "word-meanwhile")
	wantRead(t, l, "id-meanwhile", "read by hook")
	does(l, "amber", sessions.Idle)
}

// With two settings of its person, a command in the background that ends starts a turn, whose hook
// brings the mail.
func TestACommandInTheBackgroundWakesGemini(t *testing.T) {
	t.Parallel()
	l, model, p := geminiAt(t, map[string]any{
		"tools":        map[string]any{"shell": map[string]any{"backgroundCompletionBehavior": "inject"}},
		"experimental": map[string]any{"modelSteering": true},
	})
	model.Script(lab.Call("run_shell_command", map[string]any{"command": c2c() + " poll-inbox --wait --check", "description": "wait", "is_background": true}),
		lab.Say("Waiting."), lab.Say("Woken."))
	p.Submit("prompt-two")
	p.WaitShown("Waiting.")
	hooksSayIdle(l, "amber")
	p.Send("half-typed-draft")
	p.WaitShown("half-typed-draft")
	l.Run("sh", "-c", sendAs("birch", "amber", "meanwhile"))
	p.WaitShown("Woken.")
	if item := once(t, model.WaitText("word-meanwhile"), "word-meanwhile"); item.Role != "user" || !strings.HasPrefix(item.Text, "<hook_context>") {
		t.Errorf("shown as %+v", item)
	}
	if r := model.WaitText("word-meanwhile"); len(r.Find("half-typed-draft")) > 0 {
		t.Errorf("the draft was sent:\n%s", r)
	}
	wantRead(t, l, "id-meanwhile", "read by hook")
}

func TestALongMessageReachesGeminiInParts(t *testing.T) {
	t.Parallel()
	l, model := geminiMail(t, nil)
	all := letters(100_000)
	model.Script(geminiTool("me", map[string]any{"alias": "amber"}), geminiShell(sendLetters(l, "amber", all)))
	for range 6 {
		model.Script(geminiTool("poll_inbox", map[string]any{}))
	}
	model.Script(lab.Say("Finished."))
	l.GeminiPrompt(model, "please read").Wait()
	wantTruth(t, l, model, all)
}

func TestGeminiPassesOnAToolAnswerOf38000Bytes(t *testing.T) {
	t.Parallel()
	l, model := geminiLab(t)
	if got := looks(lab.Gemini, model, func() { l.GeminiPrompt(model, "please look").Wait() }, 37_950, 41_000); !got[0] || got[1] {
		t.Errorf("whole: %v", got)
	}
}

func TestGeminisShellShowsWhatItReads(t *testing.T) {
	t.Parallel()
	l, model := geminiMail(t, map[string]any{"hooksConfig": map[string]any{"enabled": false}})
	polledInShell(t, l, model, "amber", 18_000, []lab.Reply{geminiTool("me", map[string]any{"alias": "amber"})}, geminiShell,
		func() { l.GeminiPrompt(model, "please read").Wait() })
}

func TestUninstallRestoresGemini(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.SeedGemini(map[string]any{"hooks": map[string]any{"AfterAgent": []any{}}})
	uninstallRestores(t, l, lab.Gemini)
}
