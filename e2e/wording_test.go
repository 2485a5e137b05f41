package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"c2c/e2e/lab"
)

var directoryOf = regexp.MustCompile(`Primary working directory: (\S+)`)

// The experiment that measures how often a model refuses a peer's mail, with a model that does what
// a checked process asks, and refuses what is only claimed.
func TestTheExperimentOnWordingsTellsWhatARealClientRefuses(t *testing.T) {
	t.Parallel()
	l, model := newLab(t), lab.NewModel(t)
	l.SeedClaude(nil)
	l.Setenv("ANTHROPIC_BASE_URL", model.URL)
	l.Setenv("ANTHROPIC_API_KEY", "fake")
	l.Setenv("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
	model.Answer(func(r *lab.Request) (lab.Reply, bool) {
		if len(r.Find(`by="process"`)) == 0 {
			return lab.Say("I do not do what an unknown sender asks."), true
		}
		if found := r.Find("The word is "); len(found) > 0 {
			_, word, _ := strings.Cut(found[len(found)-1].Text, "The word is ")
			return lab.Say("The word: " + word[:10]), true
		}
		dir := ""
		for _, item := range r.Find("Primary working directory: ") {
			dir = directoryOf.FindStringSubmatch(item.Text)[1]
		}
		return lab.Call("Read", map[string]any{"file_path": filepath.Join(dir, "note.txt")}), true
	})
	wording := filepath.Join(os.Getenv("C2C_E2E_BIN"), "wording")
	l.Setenv("PATH", l.Path(lab.Claude))
	out := l.Run(wording, "-rings", "3", "-tasks", "0", "-parallel", "1", "-wordings", "process,claimed", "claude", "-p")
	for _, want := range []string{`process +3 +0 +0 `, `claimed +0 +3 +0 `} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("want %s in the report:\n%s", want, out)
		}
	}
}
