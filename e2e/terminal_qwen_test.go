package e2e

import (
	"strings"
	"testing"

	"c2c/e2e/lab"
)

// qwenStarted starts Qwen Code amber in a terminal of c2c's. Its person has turned the socket off by which it is woken
// otherwise.
func qwenStarted(t *testing.T, mode string) (*lab.Lab, *lab.Model, *lab.Proc) {
	t.Helper()
	l, model := qwenMail(t, map[string]any{"agents": map[string]any{"crossSessionMessaging": false},
		"tools": map[string]any{"approvalMode": mode, "useRipgrep": false}})
	p := l.Terminal(l.QwenEnv(model), c2c(), "start", "--alias", "amber", "qwen")
	p.WaitShown("Type your message")
	return l, model, p
}

func TestAQwenWithoutItsSocketIsWokenThroughItsTerminal(t *testing.T) {
	t.Parallel()
	l, model, p := qwenStarted(t, "yolo")
	for _, word := range []string{"first", "second"} {
		model.Script(lab.Say("Had " + word + "."))
		l.Run("sh", "-c", sendAs("birch", "amber", word))
		once(t, model.WaitText("word-"+word), "word-"+word)
		p.WaitShown("Had " + word + ".")
		wantRead(t, l, "id-"+word, "read by hook")
	}
	wantRings(t, l, 2)
	wantMailboxes(t, l, lab.Qwen, 1)
}

func TestNothingIsTypedOverADraftOfQwen(t *testing.T) {
	t.Parallel()
	l, model, p := qwenStarted(t, "yolo")
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

func TestNothingIsTypedIntoADialogOfQwen(t *testing.T) {
	t.Parallel()
	l, model, p := qwenStarted(t, "default")
	target := l.Home + "/touched"
	model.Script(qwenShell("touch "+target), lab.Say("Woken."))
	p.Submit("prompt-one")
	p.WaitShown("Allow execution")
	// Or the hooks' own word would hold the ring back already.
	l.Run("sh", "-c", `sed -i 's/"turn": "runs"/"turn": "over"/' ~/.c2c/repos/*/broker/sessions/*.json`)
	l.Run("sh", "-c", sendAs("birch", "amber", "meanwhile"))
	held(l)
	p.Send(lab.Esc) // the person says no
	p.WaitGone("Allow execution")
	once(t, model.WaitText("word-meanwhile"), "word-meanwhile")
	if _, err := l.Try("test", "-e", target); err == nil {
		t.Error("the dialog was approved")
	}
}
