package e2e

import (
	"strings"
	"testing"

	"c2c/e2e/lab"
)

// Started by name, a session has its mailbox before it has said a word, and is woken in it.
func TestASessionIsStartedByName(t *testing.T) {
	t.Parallel()
	l, model := claudeLab(t, nil)
	l.Setenv("C2C_MCP_SESSION_ID", "somebody-else") // of the session around this shell
	start := []string{c2c(), "start", "--alias", "amber", "claude", "--"}
	p := l.Terminal(l.ClaudeEnv(model), start...)
	p.WaitScreen(0, "shift+tab to cycle", "? for shortcuts")
	model.Script(lab.Say("Ready."))
	p.Submit("prompt-one")
	p.WaitScreen(0, "Ready.")
	l.WaitFile(".claude/sessions/*.json", `"status":"idle"`)
	model.Script(whoami(lab.Claude), lab.Say("Woken."))
	l.Run("sh", "-c", sendAs("birch", "amber", "meanwhile"))
	once(t, model.WaitText("word-meanwhile"), "word-meanwhile")
	model.WaitText(`"alias":"amber"`)
	p.WaitScreen(0, "Woken.")
	if out, err := l.Try(c2c(), "start", "--alias", "amber", "sh"); err == nil || !strings.Contains(err.Error(), "alive already") {
		t.Errorf("a second amber: %v: %s", err, out)
	}
	p.Command("/exit")
	p.Wait()

	// It comes back under its name, and its mail has waited.
	l.Run("sh", "-c", sendAs("birch", "amber", "later"))
	p = l.Terminal(l.ClaudeEnv(model), start...)
	p.WaitScreen(0, "shift+tab to cycle", "? for shortcuts")
	p.Submit("prompt-two")
	model.WaitText("prompt-two")
	model.WaitText("word-later") // with the prompt, or the ring was first
	onlyOnce(t, model.Turns(), "word-later", "")
}
