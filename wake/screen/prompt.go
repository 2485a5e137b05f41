package screen

import (
	"errors"
	"fmt"
	"strings"
)

// Prompt reads what a person has typed into a client's prompt and not sent; hints are left out. It is an
// error when the screen shows anything but a prompt that waits: a key could answer a dialog or join a turn.
// What is recognised was drawn by Claude Code 2.1.329 and Codex 0.169.0; another layout is an error too.
func Prompt(client string, s *Screen) (draft string, err error) {
	if !s.Pasting() {
		return "", errors.New("it does not read from a prompt of its own")
	}
	switch client {
	case "claude":
		return claudePrompt(s)
	case "codex":
		return codexPrompt(s)
	}
	return "", fmt.Errorf("no prompt of %q is known", client)
}

// Same says whether a prompt shows a text and nothing else. Blanks do not count: a narrow prompt breaks lines.
func Same(draft, text string) bool {
	squeeze := func(s string) string { return strings.Join(strings.Fields(s), "") }
	return squeeze(draft) == squeeze(text)
}

// Idle says why nothing may be typed into a client's prompt; nil: it is empty and waits.
func Idle(client string, s *Screen) error {
	draft, err := Prompt(client, s)
	if err == nil && draft != "" {
		err = errors.New("a draft stands in the prompt")
	}
	return err
}

var (
	errNoPrompt = errors.New("no prompt that is known stands where the cursor is")
	errTurn     = errors.New("a turn runs")
	errMenu     = errors.New("a menu or a dialog is open")
)

// running is what both clients show while a turn runs, next to the prompt.
const running = "esc to interrupt"

// claudePrompt: two rules, the prompt between them, the mode below.
func claudePrompt(s *Screen) (string, error) {
	row, col, _ := s.Cursor()
	top, bottom := row, row
	for top >= 0 && !rule(s.Line(top)) {
		top--
	}
	for bottom < s.Rows() && !rule(s.Line(bottom)) {
		bottom++
	}
	if top < 0 || bottom == s.Rows() || col < 2 || top == row {
		return "", errNoPrompt
	}
	if r := s.Line(top + 1)[0].Rune; r != '❯' {
		return "", errNoPrompt
	}
	below := s.text(bottom+1, s.Rows())
	if strings.Contains(below, running) || strings.Contains(s.text(top-4, top), running) {
		return "", errTurn
	}
	if !strings.Contains(below, " on") || strings.Contains(below, "for shell mode") {
		return "", errMenu
	}
	return s.typed(top+1, bottom), nil
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

// codexPrompt: the prompt, an empty line, the model and the directory.
func codexPrompt(s *Screen) (string, error) {
	row, col, visible := s.Cursor()
	if !visible || col < 2 {
		return "", errNoPrompt
	}
	top, bottom := row, row
	for top > 0 && s.Line(top)[0].Rune != '›' {
		if Text(s.Line(top)) == "" {
			return "", errNoPrompt
		}
		top--
	}
	for bottom < s.Rows() && Text(s.Line(bottom)) != "" {
		bottom++
	}
	if s.Line(top)[0].Rune != '›' || bottom == s.Rows() {
		return "", errNoPrompt
	}
	if strings.Contains(s.text(top-5, top), running) {
		return "", errTurn
	}
	if !strings.Contains(s.text(bottom, s.Rows()), " · ") {
		return "", errMenu
	}
	return s.typed(top, bottom), nil
}

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
