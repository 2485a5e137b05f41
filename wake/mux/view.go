package mux

import (
	"slices"
	"strings"
	"unicode"
)

// view is what a pane shows, and where its cursor stands, from 0.
type view struct {
	lines    []string // the text alone
	drawn    []string // the same lines with their colours, as the profile gets them
	row, col int
}

func (v view) valid() bool { return v.row >= 0 && v.col >= 0 && v.row < len(v.lines) }

// equal leaves the colours out: a cursor that the client draws may blink.
func (v view) equal(w view) bool {
	return v.row == w.row && v.col == w.col && slices.Equal(v.lines, w.lines)
}

// head is the start of a line up to a column. Pictures cut lines at the last character.
func head(line string, col int) []rune {
	runes := []rune(line)
	for len(runes) < col {
		runes = append(runes, ' ')
	}
	return runes[:col]
}

// typed finds text in the input line of v, where before has the same line empty: it stands behind the same
// prompt, maybe some lines higher, and ends at the cursor. Other lines with it are old. rest is v as it would
// be without the text.
func (v view) typed(text string, before view) (rest view, ok bool) {
	empty := before.row
	prompt := head(before.lines[empty], before.col)
	for i, line := range v.lines {
		if !slices.Equal(head(line, before.col), prompt) {
			continue
		}
		last, col, found := v.follow(i, before.col, text)
		wrapped := v.row == last+1 && v.col <= before.col && strings.TrimFunc(v.lines[v.row], blank) == ""
		if found && (wrapped || v.row == last && v.col == col) {
			cut := func(now, then []string) []string { return slices.Concat(now[:i], then[empty:empty+1], now[last+1:]) }
			return view{cut(v.lines, before.lines), cut(v.drawn, before.drawn), i, before.col}, true
		}
	}
	return view{}, false
}

// follow reads text from a place on, wrapped as the client likes, and returns the place behind it. Nothing
// else may stand on its lines but blanks and a frame.
func (v view) follow(row, col int, text string) (last, end int, found bool) {
	want := []rune(strings.ReplaceAll(text, " ", ""))
	for ; row < len(v.lines) && len(want) > 0; row, col = row+1, 0 {
		line := []rune(v.lines[row])
		some := false
		for i := min(col, len(line)); i < len(line); i++ {
			switch {
			case len(want) > 0 && line[i] == want[0]:
				want, some = want[1:], true
				last, end = row, i+1
			case !blank(line[i]):
				return 0, 0, false
			}
		}
		if !some {
			return 0, 0, false
		}
	}
	return last, end, len(want) == 0
}

// blank says whether r is a space or part of a frame.
func blank(r rune) bool { return unicode.IsSpace(r) || r >= 0x2500 && r <= 0x257f }
