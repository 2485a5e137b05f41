package terminal

import "strings"

const claude = "claude"

func init() { layouts[claude] = layout{read: claudePrompt} }

// claudePrompt reads the prompt of Claude Code 2.1.329. The prompt stands between two horizontal
// rules, with the mode below.
func claudePrompt(s *Screen) (string, error) {
	row, col, _ := s.Position()
	top, bottom, ok := s.ruled(row)
	if !ok || col < 2 {
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
	return s.typed(top+1, bottom, 2, s.cols), nil
}
