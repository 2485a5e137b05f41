package screen

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Captured is the picture that a terminal multiplexer gives of a pane, with the cursor at row and col, from
// 0. Multiplexers put brackets around what they paste where the client wants it, so it counts as wanted.
func Captured(lines []string, row, col int) *Screen {
	cols := col + 1
	for _, line := range lines {
		cols = max(cols, ansi.StringWidth(line))
	}
	s := New(max(len(lines), row+1), cols)
	s.pasting = true
	// Without wrapping at the right edge: each line is one of the screen's.
	for i, line := range lines {
		fmt.Fprintf(s, "\x1b[%dH\x1b[m%s", i+1, strings.Map(drawable, line))
	}
	s.move(row, col)
	return s
}

// drawable leaves out what could move the cursor; colours begin with ESC.
func drawable(r rune) rune {
	if r < ' ' && r != '\x1b' {
		return -1
	}
	return r
}
