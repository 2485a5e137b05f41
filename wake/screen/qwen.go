package screen

import "strings"

const qwen = "qwen"

// qwenHint stands in an empty prompt. It is not drawn dim, but behind more blanks than a draft.
const qwenHint = "  Type your message or @path/to/file"

// qwenPrompt, as Qwen Code 0.24.4 draws it: two rules, the prompt between them, the directory and the mode below. A
// suggestion of what to say next counts as a draft: Enter would take it.
func qwenPrompt(s *Screen) (string, error) {
	row, col, visible := s.Position()
	top, bottom, ok := s.ruled(row)
	if !ok || !visible || col < 2 {
		return "", errNoPrompt
	}
	if sign := s.Line(top + 1)[0].Rune; sign != '>' && sign != '*' {
		return "", errMenu // its shell mode, or another part of the screen
	}
	below := s.text(bottom+1, s.Rows())
	if strings.Contains(s.text(top-4, top), "esc to cancel") || strings.Contains(below, "Enter to steer") {
		return "", errTurn
	}
	if !strings.Contains(below, "(shift + tab to cycle)") {
		return "", errMenu
	}
	draft := s.typed(top+1, bottom, 2, s.cols)
	if draft == strings.TrimSpace(qwenHint) && strings.HasPrefix(Text(s.Line(top + 1)[2:]), qwenHint) {
		draft = ""
	}
	return draft, nil
}
