package e2e

import (
	"strings"
	"testing"

	"c2c/e2e/lab"
)

// geminiStarted starts Gemini amber in a terminal of c2c's.
func geminiStarted(t *testing.T, mode string) (*lab.Lab, *lab.Model, *lab.Proc) {
	t.Helper()
	l, model := geminiMail(t, nil)
	p := l.Terminal(l.GeminiEnv(model), c2c(), "start", "--alias", "amber", "gemini", "--", "--approval-mode="+mode)
	p.WaitShown("Type your message")
	geminiIdle(l, "amber") // while it starts it may not read what is typed for seconds
	return l, model, p
}

func TestGeminiIsWokenThroughItsTerminal(t *testing.T) {
	t.Parallel()
	l, model, p := geminiStarted(t, "yolo")
	for _, word := range []string{"first", "second"} {
		model.Script(lab.Say("Had " + word + "."))
		l.Run("sh", "-c", sendAs("birch", "amber", word))
		r := model.WaitText("word-" + word)
		if item := once(t, r, "word-"+word); !strings.HasPrefix(item.Text, "<hook_context>") {
			t.Errorf("shown as %+v", item)
		}
		p.WaitShown("Had " + word + ".")
		wantRead(t, l, "id-"+word, "read by hook")
		geminiIdle(l, "amber") // or the end of this turn brings the next one
	}
	wantRings(t, l, 2)
	wantMailboxes(t, l, lab.Gemini, 1)
}

func TestNothingIsTypedOverADraftOfGemini(t *testing.T) {
	t.Parallel()
	l, model, p := geminiStarted(t, "yolo")
	p.Send("half-typed-draft")
	p.WaitShown("half-typed-draft")
	l.Run("sh", "-c", sendAs("birch", "amber", "meanwhile"))
	held(l)
	p.Send(lab.Enter)
	r := model.WaitText("half-typed-draft")
	if item := once(t, r, "half-typed-draft"); strings.Contains(item.Text, "message_pending") {
		t.Errorf("the draft became %q", item.Text)
	}
	once(t, r, "word-meanwhile") // the prompt's hook has brought it
}

func TestNothingIsTypedIntoADialogOfGemini(t *testing.T) {
	t.Parallel()
	l, model, p := geminiStarted(t, "default")
	target := l.Home + "/touched"
	model.Script(geminiShell("touch "+target), lab.Say("Woken."))
	l.Run("sh", "-c", sendAs("birch", "amber", "first"))
	p.WaitShown("Allow once")
	// Or the hooks' own word would hold the ring back already.
	l.Run("sh", "-c", `sed -i 's/"turn": "runs"/"turn": "over"/' ~/.c2c/repos/*/broker/sessions/*.json`)
	l.Run("sh", "-c", sendAs("birch", "amber", "meanwhile"))
	held(l)
	p.Send(lab.Esc) // the person says no
	p.WaitGone("Allow once")
	once(t, model.WaitText("word-meanwhile"), "word-meanwhile")
	if _, err := l.Try("test", "-e", target); err == nil {
		t.Error("the dialog was approved")
	}
}
