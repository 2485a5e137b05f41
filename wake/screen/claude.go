package screen

import "strings"

const claude = "claude"

// claudePrompt, as Claude Code 2.1.329 draws it: two rules, the prompt between them, the mode below.
func claudePrompt(s *Screen) (string, error) {
	row, col, _ := s.Position()
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
