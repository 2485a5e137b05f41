package e2e

import (
	"slices"
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

// Codex names its sessions itself, and its daemon has the environment of the first terminal. Two
// are started at once in one folder.
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
		wantRead(t, l, "id-"+alias, "read by ") // the server's receipt, or the hook's: whichever is first
	}
	amber.WaitShown("Woken.")
	for want, p := range map[string]*lab.Proc{"alive already": start("amber"), "leave --alias out": start("dune", "--no-daemon")} {
		p.WaitScreen(0, want)
	}

	// It comes back under its name while Codex still has its last session open. Nothing has waited
	// that would have found it away.
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

// What the shell of a started client runs has its variables, also a client of another vendor: that
// is somebody else.
func TestAGeminiInTheShellOfClaudeDoesNotGetItsMail(t *testing.T) {
	t.Parallel()
	l, model := claudeLab(t, nil)
	inner := lab.NewModel(t)
	l.SeedGemini(nil)
	l.Run(c2c(), "install", "gemini")
	p := l.Terminal(append(l.ClaudeEnv(model), "GOOGLE_GEMINI_BASE_URL="+inner.URL, "GEMINI_API_KEY=lab-key"),
		c2c(), "start", "--alias", "amber", "claude", "--", "--permission-mode", "default", "--allowedTools=Bash")
	p.WaitScreen(0, "? for shortcuts")
	inner.Script(geminiTool("poll_inbox", nil), geminiTool("me", nil), lab.Say("Inner is done."))
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

// Two sessions of one client have been in the folder, and the other one was the last.
func TestAStartedSessionGoesOnWithItsOwnConversation(t *testing.T) {
	t.Parallel()
	for c, seed := range map[lab.Client]func(*lab.Lab, *lab.Model) (env []string, ready string){
		lab.Claude: func(l *lab.Lab, m *lab.Model) ([]string, string) {
			l.SeedClaude(nil)
			return l.ClaudeEnv(m), "shift+tab to cycle"
		},
		lab.Qwen: func(l *lab.Lab, m *lab.Model) ([]string, string) {
			l.SeedQwen(nil)
			return l.QwenEnv(m), "Type your message"
		},
		lab.Copilot: func(l *lab.Lab, m *lab.Model) ([]string, string) {
			l.SeedCopilot(nil)
			return l.CopilotEnv(m), "? help"
		},
		lab.OpenCode: func(l *lab.Lab, m *lab.Model) ([]string, string) { l.SeedOpenCode(m, nil); return l.OpenCodeEnv(), "" },
		lab.Kimi:     func(l *lab.Lab, m *lab.Model) ([]string, string) { l.SeedKimi(m, ""); return l.KimiEnv(), "context: " },
		lab.Gemini: func(l *lab.Lab, m *lab.Model) ([]string, string) {
			l.SeedGemini(nil)
			return l.GeminiEnv(m), "Type your message"
		},
	} {
		t.Run(string(c), func(t *testing.T) {
			t.Parallel()
			l, model := newLab(t), lab.NewModel(t)
			env, ready := seed(l, model)
			l.Run(c2c(), "install", string(c))
			says := func(alias, word string, more ...string) *lab.Request {
				p := l.Terminal(slices.Clone(env), append([]string{c2c(), "start", "--alias", alias, string(c)}, more...)...)
				if ready != "" {
					p.WaitShown(ready)
				} else {
					p.WaitShown("Ask anything", "Said prompt-"+alias)
				}
				if c == lab.Gemini {
					if len(more) > 0 {
						p.WaitShown("Said prompt-" + alias) // it forgets what is typed before it shows the conversation
					}
					p.WaitShown("MCP server")
					p.TypeSlowly()
				}
				model.Script(lab.Say("Said " + word))
				p.Submit(word)
				r := model.WaitText(word)
				p.WaitShown("Said " + word)
				if len(more) == 0 {
					does(l, alias, sessions.Idle) // while it works, it does not end
					p.Command("/exit")
					p.Wait()
				}
				return r
			}
			says("amber", "prompt-amber")
			says("birch", "prompt-birch")
			if r := says("amber", "prompt-again", "--", map[bool]string{true: "--resume", false: "--continue"}[c == lab.Gemini]); len(r.Find("prompt-birch")) > 0 || len(r.Find("Said prompt-amber")) == 0 {
				t.Errorf("it goes on with\n%s", r)
			}
		})
	}
}

// At Ctrl-Z these clients restore the terminal and stop themselves. The person's shell has the
// terminal then, and fg brings the client back.
func TestCtrlZAndForegroundUnderStart(t *testing.T) {
	t.Parallel()
	l, model := newLab(t), lab.NewModel(t)
	l.SeedClaude(nil)
	l.SeedCopilot(nil)
	l.SeedOpenCode(model, nil)
	for name, c := range map[string]struct {
		env   []string
		ready string
	}{
		"claude":   {l.ClaudeEnv(model), "shift+tab to cycle"},
		"copilot":  {l.CopilotEnv(model), "? help"},
		"opencode": {l.OpenCodeEnv(), "Ask anything"},
	} {
		p := l.Terminal(append(c.env, "PS1=shell-prompt$ "), "bash", "--norc", "-i")
		p.WaitShown("shell-prompt$")
		p.Send(c2c() + " start " + name + lab.Enter)
		p.WaitShown(c.ready)
		mark := p.Out.Mark()
		p.Send("\x1a")
		p.WaitScreen(mark, "shell-prompt$")
		mark = p.Out.Mark()
		p.Send("fg" + lab.Enter)
		p.WaitScreen(mark, c.ready)
		p.Send("half-a-thought")
		p.WaitShown("half-a-thought")
		p.Kill()
	}
}
