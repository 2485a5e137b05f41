package terminal

import "strings"

const codex = "codex"

func init() { layouts[codex] = layout{read: codexPrompt} }

// codexPrompt reads the prompt of Codex 0.169.0. Below the prompt are an empty line, the model and
// the directory.
func codexPrompt(s *Screen) (string, error) {
	row, col, visible := s.Position()
	if !visible || col < 2 {
		return "", errNoPrompt
	}
	top, bottom := row, row
	for top > 0 && s.Line(top)[0].Rune != '›' {
		if LineText(s.Line(top)) == "" {
			return "", errNoPrompt
		}
		top--
	}
	for bottom < s.Rows() && LineText(s.Line(bottom)) != "" {
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
	return s.typed(top, bottom, 2, s.cols), nil
}
