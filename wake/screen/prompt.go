package screen

import (
	"errors"
	"fmt"
	"strings"
)

// Prompt reads what a person has typed into a client's prompt and not sent; hints are left out. It is an
// error when the screen shows anything but a prompt that waits: a key could answer a dialog or join a turn.
// Another layout than those that were recorded is an error too.
func Prompt(client string, s *Screen) (draft string, err error) {
	if !s.Pasting() {
		return "", errors.New("it does not read from a prompt of its own")
	}
	read := layouts()[client]
	if read == nil {
		return "", fmt.Errorf("no prompt of %q is known", client)
	}
	return read(s)
}

// A layout reads the text in a client's prompt, hints left out, or fails.
type layout func(*Screen) (string, error)

// layouts has an entry for each client, by the client's name.
func layouts() map[string]layout {
	return map[string]layout{claude: claudePrompt, codex: codexPrompt}
}

// Same says whether a prompt shows a text and nothing else. Blanks do not count: a narrow prompt breaks lines.
func Same(draft, text string) bool {
	squeeze := func(s string) string { return strings.Join(strings.Fields(s), "") }
	return squeeze(draft) == squeeze(text)
}

var (
	errNoPrompt = errors.New("no prompt that is known stands where the cursor is")
	errTurn     = errors.New("a turn runs")
	errMenu     = errors.New("a menu or a dialog is open")
)

// running is what clients show while a turn runs, next to the prompt.
const running = "esc to interrupt"

// text is the lines from one to before another.
func (s *Screen) text(from, to int) string {
	var b strings.Builder
	for i := max(from, 0); i < min(to, s.Rows()); i++ {
		b.WriteString(Text(s.Line(i)) + "\n")
	}
	return b.String()
}

// typed is what stands behind the two columns of the prompt's sign, without hints. A line that is full goes
// on in the next one.
func (s *Screen) typed(from, to int) string {
	var lines []string
	for i := from; i < to; i++ {
		line := append([]Cell(nil), s.Line(i)[min(2, s.cols):]...)
		for j, c := range line {
			if c.Faint {
				line[j] = Cell{}
			}
		}
		lines = append(lines, Text(line))
	}
	return strings.Trim(strings.Join(lines, "\n"), " \u00a0\n")
}
