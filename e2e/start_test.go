package e2e

import (
	"strings"
	"testing"

	"c2c/e2e/lab"
	"c2c/sessions"
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

// Codex names its sessions itself, and its daemon has the environment of the first terminal. Two are started at once in one folder.
func TestTwoCodexAreStartedByName(t *testing.T) {
	t.Parallel()
	l, model := codexLab(t, "")
	model.Answer(func(r *lab.Request) (lab.Reply, bool) { return lab.Say("Woken."), true })
	start := func(alias string, more ...string) *lab.Proc {
		return l.Terminal(l.CodexEnv(), append([]string{c2c(), "start", "--alias", alias, "codex", "--"}, more...)...)
	}
	amber, cedar := start("amber"), start("cedar", "-m", "gpt-5.2-codex")
	for _, p := range []*lab.Proc{amber, cedar} {
		p.WaitScreen(0, "›")
	}
	for _, alias := range []string{"amber", "cedar"} {
		l.Run("sh", "-c", sendAs("birch", alias, alias))
		r := model.WaitText("word-" + alias)
		once(t, r, "word-"+alias+"\n")
		once(t, r, "Your alias in c2c is "+alias+".")
		wantRead(t, l, "id-"+alias, "read by server")
	}
	amber.WaitShown("Woken.")
	for want, p := range map[string]*lab.Proc{"alive already": start("amber"), "leave --alias out": start("dune", "--no-daemon")} {
		p.WaitScreen(0, want)
	}

	// It comes back under its name while Codex still has its last session open. Nothing has waited that would have found it away.
	cedar.Command("/quit")
	cedar.Wait()
	cedar = start("cedar")
	cedar.WaitScreen(0, "›")
	l.Run("sh", "-c", sendAs("birch", "cedar", "again"))
	once(t, model.WaitText("word-again"), "word-again")
	cedar.WaitShown("Woken.")

	// And its mail has waited.
	amber.Command("/quit")
	amber.Wait()
	l.Run("sh", "-c", sendAs("birch", "amber", "later"))
	eventually(t, func() bool { return listed(l, "amber").Now.Does == sessions.Away })
	start("amber").WaitScreen(0, "›")
	r := model.WaitText("word-later")
	once(t, r, "word-later")
	if found := r.Find("word-amber"); len(found) > 0 {
		t.Errorf("it is the old conversation: %+v", found)
	}
	var named []string
	for _, s := range everyListed(l) {
		if s.Client == string(lab.Codex) {
			named = append(named, s.Alias)
		}
	}
	if len(named) != 4 { // the two, and those that had their names before
		t.Errorf("sessions %q", named)
	}
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
