package e2e

import (
	"testing"

	"c2c/e2e/lab"
	"c2c/sessions"
)

// qwenStarted starts Qwen Code amber in a terminal of c2c's. Its person has turned the socket off
// by which it is woken otherwise.
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
		wokenByTyping(t, l, model, p, word)
		hooksSayIdle(l, "amber") // or the end of this turn brings the next one
	}
	wantRings(t, l, 2)
	wantMailboxes(t, l, lab.Qwen, 1)
}

func TestNothingIsTypedOverADraftOfQwen(t *testing.T) {
	t.Parallel()
	l, model, p := qwenStarted(t, "yolo")
	nothingIsTypedOverADraft(t, l, model, p, "half-typed-draft")
}

func TestNothingIsTypedIntoADialogOfQwen(t *testing.T) {
	t.Parallel()
	l, model, p := qwenStarted(t, "default")
	model.Script(qwenShell("touch "+touched(l)), lab.Say("Woken."))
	p.Submit("prompt-one")
	p.WaitShown("Allow execution")
	does(l, "amber", sessions.Waiting)
	// Or the hooks' own word would hold the ring back already.
	l.Run("sh", "-c", `sed -i 's/"turn": "waiting"/"turn": "idle"/' ~/.c2c/repos/*/broker/sessions/*.json`)
	nothingIsTypedIntoADialog(t, l, model, p, "Allow execution")
}
