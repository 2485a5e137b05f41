package terminal

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Captured returns the screen of a pane of a terminal multiplexer, with the cursor at row and col,
// counted from 0. It assumes that the client wants brackets around a paste, because a capture does
// not show this.
func Captured(lines []string, row, col int) *Screen {
	cols := col + 1
	for _, line := range lines {
		cols = max(cols, ansi.StringWidth(line))
	}
	s := NewScreen(max(len(lines), row+1), cols)
	s.pasting = true
	// Do not wrap at the right edge: each line is one line of the screen.
	for i, line := range lines {
		fmt.Fprintf(s, "\x1b[%dH\x1b[m%s", i+1, strings.Map(drawable, line))
	}
	s.move(row, col)
	return s
}

// drawable drops characters that could move the cursor. It keeps ESC, because colours begin with
// ESC.
func drawable(r rune) rune {
	if r < ' ' && r != '\x1b' {
		return -1
	}
	return r
}
