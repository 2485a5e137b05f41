package e2e

import (
	"fmt"
	"slices"
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
	claudeIdle(l, model) // before, its Stop hook would bring the mail
	return p
}

func TestIdleClaudeIsWoken(t *testing.T) {
	l, model, p := wakeLab(t, nil) // not beside others: it tells times
	// While the turn ends, its hooks would bring the next mail.
	idle := func() { claudeIdle(l, model) }
	wakes(t, l, model, p, idle, "amber", "user", "read by socket")
}

func TestIdleCodexIsWoken(t *testing.T) {
	l, model, p := codexAt(t, "")
	turns := 1
	idle := func() {
		turns++
		codexIdle(l, turns)
	}
	wakes(t, l, model, p, idle, "cody", "tool", "read by server")
}

// wakes sends to an idle session a dozen times. Each message must be in the next request, in that role and
// never twice.
func wakes(t *testing.T, l *lab.Lab, model *lab.Model, p *lab.Proc, idle func(), alias, role, read string) {
	t.Helper()
	quiet := time.NewTicker(time.Second) // trials of their own, not a burst
	defer quiet.Stop()
	var took []time.Duration
	for i := range 12 {
		word, answer := fmt.Sprintf("wake-%d", i), fmt.Sprintf("Woken %d.", i)
		model.Script(lab.Say(answer))
		<-quiet.C
		start := time.Now()
		l.Run("sh", "-c", sendAs("birch", alias, word))
		took = append(took, model.WaitText("word-"+word+"\n").Time.Sub(start))
		p.WaitShown(answer)
		idle()
	}
	slices.Sort(took)
	t.Logf("send to API request: min %v, median %v, max %v", took[0], took[len(took)/2], took[len(took)-1])
	for i := range 12 {
		onlyOnce(t, model.Turns(), fmt.Sprintf("word-wake-%d\n", i), role)
		wantRead(t, l, fmt.Sprintf("id-wake-%d", i), read)
	}
}
