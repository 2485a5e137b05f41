package e2e

import (
	"strings"
	"testing"

	"c2c/e2e/lab"
	"c2c/sessions"
)

// kimiStarted starts Kimi Code amber in a terminal of c2c's, with a permission mode.
func kimiStarted(t *testing.T, mode string) (*lab.Lab, *lab.Model, *lab.Proc) {
	t.Helper()
	l, model := newLab(t), lab.NewModel(t)
	l.SeedKimi(model, "")
	l.Write(".kimi-code/config.toml", strings.Replace(l.Read(".kimi-code/config.toml"), `"auto"`, mode, 1))
	l.Run(c2c(), "install", "kimi")
	l.Run(c2c(), "register", "birch", "--session-id", "birch")
	p := l.Terminal(l.KimiEnv(), c2c(), "start", "--alias", "amber", "kimi")
	p.WaitShown("context: ")
	return l, model, p
}

// A window has no session before its first prompt, and no hook tells of the end of a turn that Esc
// ends.
func TestAnIdleKimiIsWokenThroughItsTerminal(t *testing.T) {
	t.Parallel()
	l, model, p := kimiStarted(t, `"auto"`)
	wakes := func(word string) {
		t.Helper()
		if item := wokenByTyping(t, l, model, p, word); item.Role != "user" || !strings.HasPrefix(item.Text, "<hook_result") {
			t.Errorf("shown as %+v", item)
		}
	}
	wakes("first")
	seesRecorded(t, l, p, lab.Kimi, "idle", "word-first")
	kimiIdle(l, "message_pending", 1)
	wakes("second")
	kimiIdle(l, "message_pending", 2)
	never := make(chan struct{})
	defer close(never)
	model.Script(lab.Say("Too late.").After(never))
	p.Submit("prompt-two")
	model.WaitText("prompt-two")
	p.Send(lab.Esc)
	p.WaitShown("Interrupted by user")
	wakes("third")
	wantRings(t, l, 3)
	wantMailboxes(t, l, lab.Kimi, 1)
}

// Until the first prompt of the new window, which is the ring, the session has the id of its last
// conversation.
func TestAKimiThatIsStartedAgainIsRungOnceForWhatWaits(t *testing.T) {
	t.Parallel()
	l, model, p := kimiStarted(t, `"auto"`)
	wokenByTyping(t, l, model, p, "first")
	kimiIdle(l, "message_pending", 1)
	p.Command("/exit")
	p.Wait()
	l.Run("sh", "-c", sendAs("birch", "amber", "later"))
	model.Script(lab.Say("Woken."))
	p = l.Terminal(l.KimiEnv(), c2c(), "start", "--alias", "amber", "kimi")
	model.WaitText("word-later")
	p.WaitShown("Woken.")
	l.WaitSettled() // longer than a ring waits for a client that draws
	if turns := model.Turns(); len(turns) != 2 {
		t.Errorf("the model had %d turns, want 2; the last:\n%s", len(turns), turns[len(turns)-1])
	}
	wantRings(t, l, 2)
}

// The model gets the notice behind the tool's result, and asks for the mail.
func TestANoticeJoinsTheTurnOfABusyKimi(t *testing.T) {
	t.Parallel()
	l, model, p := kimiStarted(t, `"auto"`)
	release := make(chan struct{})
	model.Script(kimiBash("true").After(release), kimiTool("poll_inbox", map[string]any{}), lab.Say("Finished."), lab.Say("Answered."))
	p.Submit("prompt-one")
	model.WaitText("prompt-one")
	l.Run("sh", "-c", sendAs("birch", "amber", "meanwhile"))
	wantRings(t, l, 1)
	l.WaitFile(".kimi-code/sessions/*/*/agents/main/wire.jsonl", `"type":"prompt.steered"`)
	close(release)
	r := model.WaitText("message_pending")
	if item := once(t, r, "message_pending"); item.Role != "user" || r.Last().Text != item.Text || len(r.Find("word-meanwhile")) > 0 {
		t.Errorf("shown as %+v in\n%s", item, r)
	}
	p.WaitShown("Finished.")
	p.Submit("prompt-two")
	p.WaitShown("Answered.")
	onlyOnce(t, model.Turns(), "word-meanwhile", "tool")
	onlyOnce(t, model.Turns(), "message_pending", "user")
	wantRead(t, l, "id-meanwhile", "read by")
	wantRings(t, l, 1)
}

func TestNothingIsTypedOverADraftOfKimi(t *testing.T) {
	t.Parallel()
	l, model, p := kimiStarted(t, `"auto"`)
	// What is typed as fast as that is a paste, in which Enter is a line end.
	nothingIsTypedOverADraft(t, l, model, p, "\x1b[200~half-typed-draft\x1b[201~")
}

func TestNothingIsTypedIntoADialogOfKimi(t *testing.T) {
	t.Parallel()
	l, model, p := kimiStarted(t, `"manual"`)
	model.Script(kimiBash("touch "+touched(l)), lab.Say("Refused."), lab.Say("Woken."))
	p.Submit("prompt-one")
	p.WaitShown("Run this command?")
	if row := does(l, "amber", sessions.Waiting); row.Now.Known != sessions.ByRecord {
		t.Errorf("listed behind the dialog as %+v", row)
	}
	nothingIsTypedIntoADialog(t, l, model, p, "Run this command?")
	p.WaitShown("Woken.")
	toldWithTheNextPrompt(l, model, p)
	seesRecorded(t, l, p, lab.Kimi, "dialog", "word-meanwhile")
}
