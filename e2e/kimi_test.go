package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"c2c/e2e/lab"
)

func kimiTool(tool string, input map[string]any) lab.Reply {
	return lab.CallMCP(lab.Kimi, "c2c", tool, input)
}

func kimiBash(command string) lab.Reply {
	return lab.Call("Bash", map[string]any{"command": command})
}

func kimiAgent(prompt string, background bool) lab.Reply {
	return lab.Call("Agent", map[string]any{"description": "work", "prompt": prompt, "subagent_type": "coder", "run_in_background": background})
}

// kimiMail is a lab whose Kimi c2c is installed in, and a birch who writes.
func kimiMail(t *testing.T) (*lab.Lab, *lab.Model) {
	t.Helper()
	l, model := newLab(t), lab.NewModel(t)
	l.SeedKimi(model, "")
	l.Run(c2c(), "install", "kimi")
	l.Run(c2c(), "register", "birch", "--session-id", "birch")
	return l, model
}

// kimiAt has an idle Kimi amber.
func kimiAt(t *testing.T) (*lab.Lab, *lab.Model, *lab.Proc) {
	t.Helper()
	l, model := kimiMail(t)
	p := kimiRegisters(l, model, "amber")
	return l, model, p
}

func kimiRegisters(l *lab.Lab, model *lab.Model, alias string) *lab.Proc {
	model.Script(kimiTool("me", map[string]any{"alias": alias}), lab.Say("Registered "+alias+"."))
	p := l.KimiTUI()
	p.Submit("prompt-of-" + alias)
	p.WaitShown("Registered " + alias + ".")
	kimiIdle(l, "prompt-of-"+alias, 1)
	return p
}

// kimiIdle waits until so many turns of the session in which the prompt stands are over, and are in
// its log: what is not there yet is lost when it is killed.
func kimiIdle(l *lab.Lab, prompt string, turns int) {
	l.WaitUntil("end of the turn of "+prompt, func() bool {
		logs, _ := filepath.Glob(l.Home + "/.kimi-code/sessions/*/*/agents/main/wire.jsonl")
		return slices.ContainsFunc(logs, func(path string) bool {
			data, _ := os.ReadFile(path)
			return strings.Contains(string(data), prompt) && strings.Count(string(data), `"type":"turn.ended"`) >= turns
		})
	})
}

func TestMailOfABusyKimiContinuesItsTurn(t *testing.T) {
	t.Parallel()
	l, model, p := kimiAt(t)
	model.Script(kimiBash(sendAs("birch", "amber", "meanwhile")), kimiBash("true"), lab.Say("Thought."), lab.Say("Answered."))
	p.Submit("prompt-two")
	r := model.WaitText("word-meanwhile")
	if item := once(t, r, "word-meanwhile"); item.Role != "user" || len(r.Find("Thought.")) != 1 {
		t.Errorf("shown as %+v", item)
	}
	p.WaitShown("Answered.")
	onlyOnce(t, model.Turns(), "word-meanwhile", "user")
	wantRead(t, l, "id-meanwhile", "read by hook")
	wantMailboxes(t, l, lab.Kimi, 1)
	toldWithTheNextPrompt(l, model, p)
	seesRecorded(t, l, p, lab.Kimi, "turn", "word-meanwhile")
}

// toldWithTheNextPrompt gives a prompt: of what came at the end of a turn the client has shown
// nothing.
func toldWithTheNextPrompt(l *lab.Lab, model *lab.Model, p *lab.Proc) {
	model.Script(lab.Say("Told."))
	p.Submit("next-prompt")
	p.WaitShown("Told.")
}

func TestAPromptBringsAnIdleKimiItsMail(t *testing.T) {
	t.Parallel()
	l, model, p := kimiAt(t)
	l.Run("sh", "-c", sendAs("birch", "amber", "meanwhile"))
	if got := status(l, "id-meanwhile"); !strings.Contains(got, "queued") {
		t.Errorf("status %s", got)
	}
	model.Script(lab.Say("Answered."))
	p.Submit("prompt-two")
	p.WaitShown("Answered.")
	r := model.WaitText("prompt-two")
	if item := once(t, r, "word-meanwhile"); item.Role != "user" || !strings.HasPrefix(item.Text, "<hook_result") {
		t.Errorf("shown as %+v", item)
	}
	onlyOnce(t, model.Turns(), "word-meanwhile", "user")
	wantRead(t, l, "id-meanwhile", "read by hook")
}

// Its tools and its shells speak for the same session, after /new too; a resume finds the mailbox
// again.
func TestAWindowOfKimiHasOneMailbox(t *testing.T) {
	t.Parallel()
	l, model, p := kimiAt(t)
	whoSays := func(prompt string) {
		t.Helper()
		model.Script(kimiBash(c2c()+" whoami"), kimiTool("me", map[string]any{}), lab.Say("Known: "+prompt))
		p.Submit(prompt)
		p.WaitShown("Known: " + prompt)
		answersAreAmbers(t, model, 2)
		wantMailboxes(t, l, lab.Kimi, 1)
	}
	whoSays("prompt-two")
	kimiIdle(l, "prompt-two", 2)
	clears(p, "/new", "Known: prompt-two", "context: 0%")
	l.Run("sh", "-c", sendAs("birch", "amber", "newer"))
	whoSays("prompt-three")
	if r := model.WaitText("word-newer"); len(r.Find("prompt-two")) > 0 {
		t.Errorf("the mail went to the session before /new:\n%s", r)
	}
	kimiIdle(l, "prompt-three", 1)
	p.Kill()
	l.Run("sh", "-c", sendAs("birch", "amber", "later"))
	p = l.KimiTUI("--continue")
	whoSays("prompt-four")
	if r := model.WaitText("word-later"); len(r.Find("prompt-three")) == 0 {
		t.Errorf("the mail is not in the session that was resumed:\n%s", r)
	}
	wantRead(t, l, "id-later", "read by hook")
}

func TestTwoKimisInOneProjectHaveTwoMailboxes(t *testing.T) {
	t.Parallel()
	l, model, p := kimiAt(t)
	second := kimiRegisters(l, model, "coral")
	wantMailboxes(t, l, lab.Kimi, 2)
	eachPromptBringsItsMail(t, l, model, p, second)
}

// Its hooks run inside a subagent, too, and are told nothing of it.
func TestASubagentOfKimiHasNoMailbox(t *testing.T) {
	t.Parallel()
	for _, background := range []bool{false, true} {
		l, model, p := kimiAt(t)
		left := inside(model, "prompt-of-amber", kimiTool("me", map[string]any{}), kimiBash(sendAs("birch", "amber", "meanwhile")),
			lab.Say("The subagent is done and says so at some length, so that nobody asks it for more."))
		model.Script(kimiAgent("prompt-of-the-subagent", background), lab.Say("Finished."), lab.Say("Answered."), lab.Say("Answered."))
		p.Submit("prompt-two")
		p.WaitShown("Answered.")
		model.WaitText("word-meanwhile")
		wantRead(t, l, "id-meanwhile", "read by hook")
		mailStaysOutside(t, l, model, lab.Kimi, "prompt-of-amber", left)
		onlyOnce(t, model.Turns(), "word-meanwhile", "user")
	}
}

// A side question is an agent of its own, which nobody reads again.
func TestASideQuestionOfKimiGetsNoMail(t *testing.T) {
	t.Parallel()
	l, model, p := kimiAt(t)
	l.Run("sh", "-c", sendAs("birch", "amber", "meanwhile"))
	model.Script(lab.Say("Side answer."), lab.Say("Answered."), lab.Say("Read."))
	p.Submit("/btw side-question") // what is typed as fast as that is a paste, in which Enter is a line end
	r := model.WaitText("side-question")
	p.WaitShown("Side answer.")
	if got := status(l, "id-meanwhile"); len(r.Find("word-meanwhile")) > 0 || strings.Contains(got, "read") {
		t.Errorf("the side question has the mail: %s\n%s", got, r)
	}
	p.Send(lab.Esc)
	p.WaitGone("Side answer.")
	p.Submit("prompt-two")
	p.WaitShown("Read.")
	if r := model.WaitText("word-meanwhile"); len(r.Find("Answered.")) != 1 || len(r.Find("side-question")) > 0 {
		t.Errorf("the end of the next turn has not brought the mail:\n%s", r)
	}
	wantRead(t, l, "id-meanwhile", "read by hook")
}

// It cancels each call that was answered. And what one of its calls handed over, no hook shows
// again.
func TestACallThatKimiCancelsAfterwardsHandsOverOnce(t *testing.T) {
	t.Parallel()
	l, model, p := kimiAt(t)
	model.Script(kimiBash(sendAs("birch", "amber", "meanwhile")), kimiTool("poll_inbox", map[string]any{}),
		kimiTool("poll_inbox", map[string]any{}), lab.Say("Finished."), lab.Say("Answered."))
	p.Submit("prompt-two")
	p.WaitShown("Finished.")
	p.Submit("prompt-three")
	p.WaitShown("Answered.")
	onlyOnce(t, model.Turns(), "word-meanwhile", "tool")
	wantRead(t, l, "id-meanwhile", "read by")
}

// A command in the background that ends starts a turn; the Stop hook of that turn hands over.
func TestACommandInTheBackgroundWakesKimi(t *testing.T) {
	t.Parallel()
	l, model, p := kimiAt(t)
	model.Script(lab.Call("Bash", map[string]any{"command": c2c() + " poll-inbox --wait --check", "run_in_background": true,
		"disable_timeout": true, "description": "wait for mail"}), lab.Say("Waiting."), lab.Say("Woken."), lab.Say("Answered."))
	p.Submit("prompt-two")
	p.WaitShown("Waiting.")
	kimiIdle(l, "prompt-two", 2)
	l.Run("sh", "-c", sendAs("birch", "amber", "meanwhile"))
	once(t, model.WaitText("word-meanwhile"), "word-meanwhile")
	p.WaitShown("Answered.")
	onlyOnce(t, model.Turns(), "word-meanwhile", "user")
	wantRead(t, l, "id-meanwhile", "read by hook")
}

func TestALongMessageReachesKimiInParts(t *testing.T) {
	t.Parallel()
	l, model := kimiMail(t)
	all := letters(100_000)
	model.Script(kimiTool("me", map[string]any{"alias": "amber"}), kimiBash(sendLetters(l, "amber", all)))
	for range 6 {
		model.Script(kimiTool("poll_inbox", map[string]any{}))
	}
	model.Script(lab.Say("Finished."))
	l.KimiPrompt("please read").Wait()
	wantTruth(t, l, model, all)
}

func TestKimiPassesOnAToolAnswerOf45000Bytes(t *testing.T) {
	t.Parallel()
	l, model := kimiLab(t)
	if got := looks(lab.Kimi, model, func() { l.KimiPrompt("please look").Wait() }, 44_950, 51_000); !got[0] || got[1] {
		t.Errorf("whole: %v", got)
	}
}

func TestKimisShellShowsWhatItReads(t *testing.T) {
	t.Parallel()
	l, model := kimiMail(t)
	polledInShell(t, l, model, "amber", 60_000, []lab.Reply{kimiTool("me", map[string]any{"alias": "amber"})}, kimiBash,
		func() { l.KimiPrompt("please read").Wait() })
}

func TestUninstallRestoresKimi(t *testing.T) {
	t.Parallel()
	l, model := newLab(t), lab.NewModel(t)
	l.SeedKimi(model, "[[hooks]]\nevent = \"Stop\"\ncommand = \"true\"\n")
	uninstallRestores(t, l, lab.Kimi)
}
