package terminal

import "strings"

const qwen = "qwen"

func init() { layouts[qwen] = layout{read: qwenPrompt} }

// qwenHint is the client's text in an empty prompt. The client draws this text like typed text, but
// with more blanks before it.
const qwenHint = "  Type your message or @path/to/file"

// qwenPrompt reads the prompt of Qwen Code 0.24.4. The prompt stands between two rules, with the
// directory and the mode below. A suggestion for the next prompt counts as a draft, because Enter
// would accept it.
func qwenPrompt(s *Screen) (string, error) {
	row, col, visible := s.Position()
	top, bottom, ok := s.ruled(row)
	if !ok || !visible || col < 2 {
		return "", errNoPrompt
	}
	if sign := s.Line(top + 1)[0].Rune; sign != '>' && sign != '*' {
		return "", errMenu // the client's shell mode, or another part of the screen
	}
	below := s.text(bottom+1, s.Rows())
	if strings.Contains(s.text(top-4, top), "esc to cancel") || strings.Contains(below, "Enter to steer") {
		return "", errTurn
	}
	if !strings.Contains(below, "(shift + tab to cycle)") {
		return "", errMenu
	}
	draft := s.typed(top+1, bottom, 2, s.cols)
	if draft == strings.TrimSpace(qwenHint) && strings.HasPrefix(LineText(s.Line(top + 1)[2:]), qwenHint) {
		draft = ""
	}
	return draft, nil
}
