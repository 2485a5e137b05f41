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
	if !s.pasting {
		return "", errors.New("it does not read from a prompt of its own")
	}
	layout, known := layouts()[client]
	if !known {
		return "", fmt.Errorf("no prompt of %q is known", client)
	}
	return layout.read(s)
}

// Knows says whether a client's prompt can be read.
func Knows(client string) bool { _, known := layouts()[client]; return known }

// JoinPrompt is Prompt while a turn runs: what Prompt takes for one that waits is an error.
func JoinPrompt(client string, s *Screen) (draft string, err error) {
	switch draft, err = Prompt(client, s); err {
	case errTurn:
		return draft, nil
	case nil:
		return draft, errors.New("no turn runs any more")
	}
	return "", err
}

// JoinKey is the key that has the line in a client's prompt join the turn that runs; "" if there is none.
func JoinKey(client string) string { return layouts()[client].join }

// A layout is how a client draws its prompt.
type layout struct {
	read func(*Screen) (string, error) // the text in it, hints left out; fails with it and errTurn where join is set
	join string                        // see JoinKey
	word string                        // how words begin that are commands of its person wherever they stand in a prompt; "" if none do
}

// layouts has an entry for each client, by the client's name.
func layouts() map[string]layout {
	return map[string]layout{claude: {read: claudePrompt, word: claudeWord}, codex: {read: codexPrompt}, kimi: {read: kimiPrompt, join: "\x13"},
		qwen: {read: qwenPrompt}, gemini: {read: geminiPrompt}}
}

// Same says whether a prompt shows a text and nothing else. Blanks do not count: a narrow prompt breaks lines.
func Same(draft, text string) bool { return squeeze(draft) == squeeze(text) }

func squeeze(s string) string { return strings.Join(strings.Fields(s), "") }

var (
	errNoPrompt = errors.New("no prompt that is known stands where the cursor is")
	errTurn     = errors.New("a turn runs")
	errMenu     = errors.New("a menu or a dialog is open")
	errQueue    = errors.New("what its person has sent waits for the end of the turn")
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

// typed is what stands in the prompt's lines from column left to before right, without hints. A line that is full goes
// on in the next one.
func (s *Screen) typed(from, to, left, right int) string {
	var lines []string
	for i := from; i < to; i++ {
		line := append([]Cell(nil), s.Line(i)[min(left, right):right]...)
		for j, c := range line {
			if c.Faint {
				line[j] = Cell{}
			}
		}
		lines = append(lines, Text(line))
	}
	return strings.Trim(strings.Join(lines, "\n"), " \u00a0\n")
}

// ruled finds the two lines from end to end between which a row stands.
func (s *Screen) ruled(row int) (top, bottom int, ok bool) {
	top, bottom = row, row
	for top >= 0 && !rule(s.Line(top)) {
		top--
	}
	for bottom < s.Rows() && !rule(s.Line(bottom)) {
		bottom++
	}
	return top, bottom, top >= 0 && top < row && bottom < s.Rows()
}

// rule says whether a line is drawn from end to end.
func rule(line []Cell) bool {
	n := 0
	for _, c := range line {
		if c.Rune == '─' {
			n++
		}
	}
	return n > len(line)*3/4
}
