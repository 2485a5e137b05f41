package e2e

import (
	"fmt"
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
	t.Parallel()
	l, model, p := wakeLab(t, nil)
	// While the turn ends, its hooks would bring the next mail.
	idle := func() { claudeIdle(l, model) }
	wakes(t, l, model, p, idle, "amber", "user", "read by socket")
}

func TestIdleCodexIsWoken(t *testing.T) {
	t.Parallel()
	l, model, p := codexAt(t, "")
	turns := 1
	idle := func() {
		turns++
		codexIdle(l, turns)
	}
	wakes(t, l, model, p, idle, "cody", "tool", "read by server")
}

// wakes sends to an idle session some times, and once more when its person has begun to type. Each
// message must be in the next request, in that role and never twice.
func wakes(t *testing.T, l *lab.Lab, model *lab.Model, p *lab.Proc, idle func(), alias, role, read string) {
	t.Helper()
	quiet := time.NewTicker(time.Second) // trials of their own, not a burst
	defer quiet.Stop()
	const trials = 4
	for i := range trials {
		word, answer := fmt.Sprintf("wake-%d", i), fmt.Sprintf("Woken %d.", i)
		model.Script(lab.Say(answer))
		<-quiet.C
		l.Run("sh", "-c", sendAs("birch", alias, word))
		model.WaitText("word-" + word + "\n")
		p.WaitShown(answer)
		idle()
	}
	keepsTheDraft(t, l, model, p, alias)
	for i := range trials {
		onlyOnce(t, model.Turns(), fmt.Sprintf("word-wake-%d\n", i), role)
		wantRead(t, l, fmt.Sprintf("id-wake-%d", i), read)
	}
}
