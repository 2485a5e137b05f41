package screen

import "strings"

const gemini = "gemini"

// geminiHint stands in an empty prompt, as if it was typed.
const geminiHint = "Type your message or @path/to/file"

// geminiPrompt, as Gemini CLI 0.61.0 draws it: what runs, a rule, the mode, the edge of a box, the prompt with a sign
// in its second column, the edge, what belongs to the prompt, such as a menu. It draws its cursor itself, and leaves
// the terminal's own at the same place. An Enter that it takes for a part of a paste, as it may when it is slow, leaves the
// cursor on an empty line.
func geminiPrompt(s *Screen) (string, error) {
	row, col, _ := s.Position()
	last := row // of the draft
	if row > 0 && geminiEdge(s.Line(row)) {
		last--
	}
	top, bottom := last, last
	for top >= 0 && !geminiEdge(s.Line(top)) {
		top--
	}
	for bottom < s.Rows() && !geminiEdge(s.Line(bottom)) {
		bottom++
	}
	if top < 3 || top == last || bottom == s.Rows() || col < 3 || !rule(s.Line(top-2)) {
		return "", errNoPrompt
	}
	if sign := s.Line(top + 1)[1].Rune; sign != '>' && sign != '*' {
		return "", errNoPrompt
	}
	if strings.Contains(s.text(top-3, top-2), "(esc to cancel") {
		return "", errTurn
	}
	draft := s.typed(top+1, bottom, 3, s.cols)
	if draft == geminiHint && row == top+1 && col == 3 {
		draft = ""
	}
	return draft, nil
}

// geminiEdge says whether a line is the upper or lower edge of the prompt: empty, or drawn with half blocks.
func geminiEdge(line []Cell) bool { return strings.Trim(Text(line), " ▀▄") == "" }
