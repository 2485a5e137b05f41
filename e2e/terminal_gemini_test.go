package e2e

import (
	"strings"
	"testing"

	"c2c/e2e/lab"
	"c2c/sessions"
)

// geminiStarted starts Gemini amber in a terminal of c2c's.
func geminiStarted(t *testing.T, mode string) (*lab.Lab, *lab.Model, *lab.Proc) {
	t.Helper()
	l, model := geminiMail(t, nil)
	p := l.Terminal(l.GeminiEnv(model), c2c(), "start", "--alias", "amber", "gemini", "--", "--approval-mode="+mode)
	p.WaitShown("Type your message")
	hooksSayIdle(l, "amber") // while it starts it may not read what is typed for seconds
	return l, model, p
}

func TestGeminiIsWokenThroughItsTerminal(t *testing.T) {
	t.Parallel()
	l, model, p := geminiStarted(t, "yolo")
	for _, word := range []string{"first", "second"} {
		if item := wokenByTyping(t, l, model, p, word); !strings.HasPrefix(item.Text, "<hook_context>") {
			t.Errorf("shown as %+v", item)
		}
		hooksSayIdle(l, "amber") // or the end of this turn brings the next one
	}
	seesRecorded(t, l, p, lab.Gemini, "idle", "word-first")
	wantRings(t, l, 2)
	wantMailboxes(t, l, lab.Gemini, 1)
}

func TestNothingIsTypedOverADraftOfGemini(t *testing.T) {
	t.Parallel()
	l, model, p := geminiStarted(t, "yolo")
	nothingIsTypedOverADraft(t, l, model, p, "half-typed-draft")
}

func TestNothingIsTypedIntoADialogOfGemini(t *testing.T) {
	t.Parallel()
	l, model, p := geminiStarted(t, "default")
	model.Script(geminiShell("touch "+touched(l)), lab.Say("Woken."))
	l.Run("sh", "-c", sendAs("birch", "amber", "first"))
	p.WaitShown("Allow once")
	wantRings(t, l, 1) // it is written down where the next line writes
	does(l, "amber", sessions.Waiting)
	// Or the hooks' own word would hold the ring back already.
	l.Run("sh", "-c", `sed -i 's/"turn": "waiting"/"turn": "idle"/' ~/.c2c/repos/*/broker/sessions/*.json`)
	nothingIsTypedIntoADialog(t, l, model, p, "Allow once")
}

// In a folder that its person does not trust Gemini CLI runs no hook and has no tool of c2c: the
// line says what else to run.
func TestAGeminiInAFolderThatIsNotTrustedIsToldToPollInItsShell(t *testing.T) {
	t.Parallel()
	l, model := geminiMail(t, map[string]any{"security": map[string]any{"folderTrust": map[string]any{"enabled": true}}})
	l.Write(".gemini/trustedFolders.json", `{"`+l.Project+`":"DO_NOT_TRUST"}`)
	p := l.Terminal(l.GeminiEnv(model), c2c(), "start", "--alias", "amber", "gemini")
	p.WaitShown("Type your message")
	l.Run("sh", "-c", sendAs("birch", "amber", "first"))
	r := model.WaitText("run: c2c poll-inbox")
	if len(r.Find("word-first")) > 0 {
		t.Errorf("hooks brought it: %s", r)
	}
}
