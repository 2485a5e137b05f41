package e2e

import (
	"testing"

	"c2c/e2e/lab"
)

// What the skill is for stands in the first request, once; the rest is read when it is needed.
func TestTheSkillIsKnownToItsModels(t *testing.T) {
	t.Parallel()
	const about = "Write to other AI coding sessions on this machine and read their mail."
	t.Run("claude", func(t *testing.T) {
		t.Parallel()
		l, model := newLab(t), lab.NewModel(t)
		l.SeedClaude(nil)
		l.Run(c2c(), "install", "claude")
		model.Script(lab.Say("Done."))
		l.Claude(model, "-p", "hello").Wait()
		once(t, model.Wait(0), about)
	})
	t.Run("codex", func(t *testing.T) {
		t.Parallel()
		l, model := newLab(t), lab.NewModel(t)
		l.SeedCodex(model, "")
		l.Run(c2c(), "install", "codex")
		model.Script(lab.Say("Done."))
		l.CodexExec("hello").Wait()
		once(t, model.Wait(0), about)
	})
}
