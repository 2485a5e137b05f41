package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"c2c/e2e/lab"
)

// claudeAt starts Claude Code on a terminal, registered as amber and idle.
func claudeAt(t *testing.T, l *lab.Lab, model *lab.Model, args ...string) *lab.Proc {
	t.Helper()
	model.Script(register(lab.Claude, "amber"), lab.Say("Registered."))
	p := l.ClaudeTUI(model, args...)
	p.Submit("prompt-one")
	p.WaitScreen(0, "Registered.")
	l.WaitFile(".claude/sessions/*.json", `"status":"idle"`) // before, its Stop hook would bring the mail
	return p
}

func TestIdleClaudeIsWoken(t *testing.T) {
	l, model := newLab(t), lab.NewModel(t) // not beside others: it tells times
	l.SeedClaude(nil)
	l.Run(c2c(), "install", "claude")
	l.Run(c2c(), "register", "birch", "--session-id", "birch")
	p := claudeAt(t, l, model)
	quiet := time.NewTicker(time.Second) // trials of their own, not a burst
	defer quiet.Stop()
	var took []time.Duration
	for i := range 12 {
		word := fmt.Sprintf("wake-%d", i)
		answer := fmt.Sprintf("Woken %d.", i)
		model.Script(lab.Say(answer))
		<-quiet.C
		start := time.Now()
		l.Run("sh", "-c", sendAs("birch", "amber", word))
		r := model.WaitText("word-" + word)
		took = append(took, r.Time.Sub(start))
		once(t, r, "word-"+word)
		if got := status(l, "id-"+word); !strings.Contains(got, "read by socket") {
			t.Errorf("status %q", got)
		}
		p.WaitScreen(0, answer)
	}
	slices.Sort(took)
	t.Logf("send to API request: min %v, median %v, max %v", took[0], took[len(took)/2], took[len(took)-1])
	for i := range 12 {
		onlyOnce(t, model.Turns(), fmt.Sprintf("word-wake-%d\n", i), "user")
	}
}

func TestIdleCodexIsWoken(t *testing.T) {
	l, model := newLab(t), lab.NewModel(t) // not beside others: it tells times
	l.SeedCodex(model, "")
	l.Run(c2c(), "install", "codex")
	l.Run(c2c(), "register", "birch", "--session-id", "birch")
	l.TrustCodexHooks()
	model.Script(register(lab.Codex, "cody"), lab.Say("Registered."))
	p := l.CodexTUI()
	p.Submit("prompt-one")
	p.WaitScreen(0, "Registered.")
	quiet := time.NewTicker(time.Second)
	defer quiet.Stop()
	var took []time.Duration
	for i := range 12 {
		word := fmt.Sprintf("wake-%d", i)
		answer := fmt.Sprintf("Woken %d.", i)
		model.Script(lab.Say(answer))
		<-quiet.C
		start := time.Now()
		l.Run("sh", "-c", sendAs("birch", "cody", word))
		r := model.WaitText("word-" + word)
		took = append(took, r.Time.Sub(start))
		if item := once(t, r, "word-"+word+"\n"); item.Role != "tool" {
			t.Errorf("shown as %+v", item)
		}
		p.WaitScreen(0, answer)
	}
	slices.Sort(took)
	t.Logf("send to API request: min %v, median %v, max %v", took[0], took[len(took)/2], took[len(took)-1])
	for i := range 12 {
		onlyOnce(t, model.Turns(), fmt.Sprintf("word-wake-%d\n", i), "tool")
		if got := status(l, fmt.Sprintf("id-wake-%d", i)); !strings.Contains(got, "read by server") {
			t.Errorf("status %q", got)
		}
	}
}
