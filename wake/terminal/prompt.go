package terminal

import (
	"errors"
	"fmt"
	"strings"

	"c2c/wake"
)

// Prompt returns the text that a person has typed into a client's prompt and not sent, without the
// client's own hints there. It returns an error if the screen shows anything but a prompt that
// waits for input, because then a key could answer a dialog or join a turn. It also returns an
// error for a client or a layout that c2c does not know.
func Prompt(client string, s *Screen) (draft string, err error) {
	if !s.pasting {
		return "", errors.New("it does not read from a prompt of its own")
	}
	layout, known := layouts[client]
	if !known {
		return "", fmt.Errorf("no prompt of %q is known", client)
	}
	return layout.read(s)
}

// KnowsPrompt reports whether c2c can read a client's prompt. Only then can c2c type there.
func KnowsPrompt(client string) bool { _, known := layouts[client]; return known }

// JoinPrompt does the same as Prompt, but for a prompt during a turn. It returns an error if no
// turn runs.
func JoinPrompt(client string, s *Screen) (draft string, err error) {
	switch draft, err = Prompt(client, s); err {
	case errTurn:
		return draft, nil
	case nil:
		return draft, errors.New("no turn runs any more")
	}
	return "", err
}

// JoinKey returns the key that sends the line in a client's prompt into the running turn; "" if
// there is none.
func JoinKey(client string) string { return layouts[client].join }

// A layout describes how a client draws its prompt.
type layout struct {
	read func(*Screen) (string, error) // does the work of Prompt; while a turn runs it returns errTurn, and if join is set also the draft
	join string                        // the key that sends a line into the running turn; "": there is none
}

// layouts has the layout of each client whose prompt c2c can read, by the client's name. The file
// of a client adds it in init.
var layouts = map[string]layout{}

// SameText reports whether a prompt shows a text and nothing else. Blanks do not count, because a
// narrow prompt breaks lines.
func SameText(draft, text string) bool { return squeeze(draft) == squeeze(text) }

func squeeze(s string) string { return strings.Join(strings.Fields(s), "") }

var (
	errNoPrompt = errors.New(wake.DialogWaits) // no known prompt is at the cursor
	errTurn     = errors.New("a turn runs")
	errMenu     = errors.New("a menu or a dialog is open")
	errQueue    = errors.New("a prompt of its person still waits for the end of the turn")
)

// running is the hint that Claude Code and Codex show near the prompt during a turn.
const running = "esc to interrupt"

// text returns the text of the lines first to end-1.
func (s *Screen) text(first, end int) string {
	var b strings.Builder
	for i := max(first, 0); i < min(end, s.Rows()); i++ {
		b.WriteString(LineText(s.Line(i)) + "\n")
	}
	return b.String()
}

// typed returns the text that a person has typed into the prompt's lines first to end-1, from
// column left to column right-1, without hints. The text of a full line continues in the next line.
func (s *Screen) typed(first, end, left, right int) string {
	var lines []string
	for i := first; i < end; i++ {
		line := append([]Cell(nil), s.Line(i)[min(left, right):right]...)
		for j, c := range line {
			if c.Faint {
				line[j] = Cell{}
			}
		}
		lines = append(lines, LineText(line))
	}
	return strings.Trim(strings.Join(lines, "\n"), " \u00a0\n")
}

// ruled finds the rule above a row and the rule below it.
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

// rule reports whether a line of the screen is a rule: a horizontal line about as wide as the
// screen.
func rule(line []Cell) bool {
	n := 0
	for _, c := range line {
		if c.Rune == '─' {
			n++
		}
	}
	return n > len(line)*3/4
}
