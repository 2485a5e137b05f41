package terminal

import (
	"slices"
	"strings"
)

const kimi = "kimi"

func init() { layouts[kimi] = layout{read: kimiPrompt, join: "\x13"} }

// kimiPrompt reads the prompt of Kimi Code 2.1.0: a box with the prompt, and below it the directory
// and how full the context is. It returns an error for a side question (/btw), whose box has
// another top, for a shell command, which has another sign, and for a menu below the box. During a
// turn the client draws phases of the moon or moving dots above the box. There it also shows a
// prompt that its person has sent during the turn. Then the error is errQueue, because the key that
// makes a line join the turn would send this prompt, too.
func kimiPrompt(s *Screen) (draft string, err error) {
	const sign = 3 // the column of the prompt's sign
	row, col, _ := s.Position()
	top, bottom := row, row
	for top >= 0 && s.first(top) == '│' {
		top--
	}
	for bottom < s.Rows() && s.first(bottom) == '│' {
		bottom++
	}
	if top < 0 || top == row || bottom == s.Rows() || col <= sign || s.first(top) != '╭' || s.first(bottom) != '╰' {
		return "", errNoPrompt
	}
	if s.Line(top + 1)[sign].Rune != '>' || !strings.Contains(s.text(bottom+1, s.Rows()), "context: ") || s.first(bottom+1) == '│' {
		return "", errMenu
	}
	right := slices.IndexFunc(s.Line(top), func(c Cell) bool { return c.Rune == '╮' })
	draft = s.typed(top+1, bottom, sign+2, max(right, 0))
	for above := range top {
		if strings.Contains(LineText(s.Line(above)), "↑ to edit · ") {
			return "", errQueue
		}
		if r := s.first(above); r >= '🌑' && r <= '🌘' || r >= '⠁' && r <= '⣿' {
			err = errTurn
		}
	}
	return draft, err
}

// first returns the first character of a line.
func (s *Screen) first(row int) rune {
	for _, c := range s.Line(row) {
		if c.Rune != 0 && c.Rune != ' ' {
			return c.Rune
		}
	}
	return 0
}
