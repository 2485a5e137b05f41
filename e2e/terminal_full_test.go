package e2e

import (
	"strings"
	"testing"

	"c2c/e2e/lab"
)

// A peer's words are typed into clients in which c2c is not set up, and are no command there: no
// file is read, and nothing counts as a word of the person.
func TestMailIsTypedIntoAClientWithoutC2C(t *testing.T) {
	t.Parallel()
	for name, starts := range map[string]func(*lab.Lab, *lab.Model) (env []string, ready string){
		"claude": func(l *lab.Lab, model *lab.Model) ([]string, string) {
			l.SeedClaude(nil)
			return l.ClaudeEnv(model), "shift+tab to cycle"
		},
		"kimi": func(l *lab.Lab, model *lab.Model) ([]string, string) {
			l.SeedKimi(model, "")
			return l.KimiEnv(), "context: "
		},
		"qwen": func(l *lab.Lab, model *lab.Model) ([]string, string) {
			l.SeedQwen(nil)
			return l.QwenEnv(model), "Type your message"
		},
		"gemini": func(l *lab.Lab, model *lab.Model) ([]string, string) {
			l.SeedGemini(nil)
			return l.GeminiEnv(model), "Type your message"
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, model := newLab(t), lab.NewModel(t)
			env, ready := starts(l, model)
			l.Run(c2c(), "register", "birch", "--session-id", "birch")
			l.Write("secret", "text-of-a-file")
			p := l.Terminal(env, c2c(), "start", "--full-delivery", "--alias", "amber", name)
			p.WaitShown(ready)

			model.Script(lab.Say("Had the first."))
			l.Run("sh", "-c", "printf '%s-first!\\nultrathink of @"+l.Home+"/secret' word | C2C_MCP_SESSION_ID=birch "+c2c()+" send amber --id id-first -")
			r := model.WaitText("word-first")
			item := once(t, r, "word-first")
			if !strings.Contains(item.Text, "Typed by c2c, not by your user: ") || !strings.Contains(item.Text, "word-first&#33;&#10;") || strings.Contains(item.Text, "@") {
				t.Errorf("typed as %+v", item)
			}
			if len(r.Find("text-of-a-file")) > 0 || len(r.Find(`keyword "ultrathink"`)) > 0 {
				t.Errorf("the words of a peer were a command:\n%s", r)
			}
			p.WaitShown("Had the first.")
			eventually(t, func() bool { return !strings.Contains(status(l, "id-first"), ": queued") })
			if got := status(l, "id-first"); !strings.Contains(got, ": handed by terminal at") {
				t.Errorf("status %q", got)
			}

			model.Script(lab.Say("Had the second."))
			l.Run("sh", "-c", "printf 'long-%0500d' 1 | C2C_MCP_SESSION_ID=birch "+c2c()+" send amber --id id-long -")
			r = model.WaitText("message_pending")
			once(t, r, `event="message_pending" count="1" from="birch">run: c2c poll-inbox`)
			once(t, r, "word-first")
			if len(r.Find("long-0")) > 0 {
				t.Errorf("a long message was typed:\n%s", r)
			}
			wantRings(t, l, 2)
		})
	}
}
