package terminal

import "strings"

const gemini = "gemini"

func init() { layouts[gemini] = layout{read: geminiPrompt} }

// geminiHint is the client's text in an empty prompt. It looks like text that a person has typed.
const geminiHint = "Type your message or @path/to/file"

// geminiPrompt reads the prompt of Gemini CLI 0.61.0. From top to bottom the screen shows: a line
// about the running turn, a rule, the mode, the upper edge of a box, the prompt with a sign in the
// second column, the lower edge of the box, and perhaps a menu. The client draws a cursor of its
// own, at the place of the terminal's cursor. A slow client may treat an Enter as part of a paste.
// Then the cursor is on an empty line below the text, and geminiPrompt searches for the upper edge
// above this line.
func geminiPrompt(s *Screen) (string, error) {
	row, col, _ := s.Position()
	last := row // the last row of the draft
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

// geminiEdge reports whether a line is the upper or lower edge of the prompt: empty, or drawn with
// half blocks.
func geminiEdge(line []Cell) bool { return strings.Trim(LineText(line), " ▀▄") == "" }
