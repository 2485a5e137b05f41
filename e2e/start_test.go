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
	claudeIdle(l, model)
	model.Script(whoami(lab.Claude), lab.Say("Woken."))
	l.Run("sh", "-c", sendAs("birch", "amber", "meanwhile"))
	once(t, model.WaitText("word-meanwhile"), "word-meanwhile")
	model.WaitText(`"alias":"amber"`)
	p.WaitScreen(0, "Woken.")
	if out, err := l.Try(c2c(), "start", "--alias", "amber", "sh", "--"); err == nil || !strings.Contains(err.Error(), "alive already") {
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

// What the shell of a started client runs has its variables, also a client of another vendor: that is somebody else.
func TestAGeminiInTheShellOfClaudeDoesNotGetItsMail(t *testing.T) {
	t.Parallel()
	l, model := claudeLab(t, nil)
	inner := lab.NewModel(t)
	l.SeedGemini(nil)
	l.Run(c2c(), "install", "gemini")
	p := l.Terminal(append(l.ClaudeEnv(model), "GOOGLE_GEMINI_BASE_URL="+inner.URL, "GEMINI_API_KEY=lab-key"),
		c2c(), "start", "--alias", "amber", "claude", "--", "--permission-mode", "default", "--allowedTools=Bash")
	p.WaitScreen(0, "? for shortcuts")
	inner.Script(geminiTool("poll_inbox", nil), geminiTool("whoami", nil), lab.Say("Inner is done."))
	model.Script(lab.Call("Bash", map[string]any{"command": sendAs("birch", "amber", "meanwhile") + "; gemini --yolo -p prompt-inner", "description": "run it"}), lab.Say("Outer is done."))
	p.Submit("prompt-one")
	once(t, model.WaitText("word-meanwhile"), "word-meanwhile")
	p.WaitScreen(0, "Outer is done.")
	if len(inner.Turns()) != 3 {
		t.Errorf("the inner client made %d requests", len(inner.Turns()))
	}
	for _, r := range inner.Turns() {
		if len(r.Find("word-meanwhile")) > 0 || len(r.Find(`"alias":"amber"`)) > 0 {
			t.Errorf("the inner client was given %+v", r)
		}
	}
	onlyOnce(t, model.Turns(), "word-meanwhile", "")
}
