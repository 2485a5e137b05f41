package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"c2c/e2e/lab"
	"c2c/e2e/picture/terminals"
)

// The picture of the README: a Claude Code asks, an idle Codex wakes and answers. With -update it
// is drawn anew, from what the two terminals show; the models' words are the script's.
func TestOneAsksAndAnotherWakesAndAnswers(t *testing.T) {
	t.Parallel()
	l, claude, codex := newLab(t), lab.NewModel(t), lab.NewModel(t)
	l.SeedClaude(nil)
	l.SeedCodex(codex, "")
	l.Run(c2c(), "install")
	l.TrustCodexHooks()
	q := l.Terminal(l.CodexEnv(), c2c(), "start", "--alias", "birch", "codex")
	q.WaitScreen(0, "›")
	p := l.Terminal(l.ClaudeEnv(claude), c2c(), "start", "--alias", "amber", "claude")
	p.WaitScreen(0, "shift+tab to cycle", "? for shortcuts")

	const question, answer = "Is the build green, and since when?", "Yes, since 9:40. The flaky test was mine, it is mended."
	codex.Answer(replies(lab.Codex, question, answer, nil))
	codex.Script(lab.Say("I have answered amber."))
	claude.Script(asks(lab.Claude, "birch", question, 600), lab.Say("birch says: green since 9:40, and the flaky test is mended."))
	p.Submit("Ask birch whether the build is green")
	once(t, claude.WaitText(answer), answer)
	p.WaitShown("birch says: green")
	q.WaitShown("I have answered amber.")
	onlyOnce(t, codex.Turns(), question, "")
	if !*update {
		return
	}
	drawing := terminals.Draw(100, true, terminals.Pane{Title: "amber: Claude Code " + l.Version(lab.Claude), Lines: talk(p, "❯ Ask", "birch says")},
		terminals.Pane{Title: "birch: Codex " + l.Version(lab.Codex) + ", which was idle", Lines: talk(q, "Mail from", "answered amber")})
	if err := os.WriteFile(filepath.Join("..", "docs", "claude-and-codex.svg"), drawing, 0o644); err != nil {
		t.Fatal(err)
	}
}

// talk is what a terminal shows from the line with the first words to that with the last, without
// empty lines.
func talk(p *lab.Proc, first, last string) (lines []string) {
	for line := range strings.SplitSeq(p.Screen(), "\n") {
		line = strings.TrimRight(line, " ")
		if len(lines) == 0 && !strings.Contains(line, first) || line == "" {
			continue
		}
		if runes := []rune(line); len(runes) > 96 {
			line = string(runes[:95]) + "…"
		}
		if lines = append(lines, line); strings.Contains(line, last) {
			break
		}
	}
	return lines
}
