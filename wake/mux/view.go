package mux

import "slices"

// view is what a pane shows, and where its cursor stands, from 0.
type view struct {
	lines    []string // the text alone
	drawn    []string // the same lines with their colours, as package screen gets them
	row, col int
}

func (v view) valid() bool { return v.row >= 0 && v.col >= 0 && v.row < len(v.lines) }

// equal leaves the colours out: a cursor that the client draws may blink.
func (v view) equal(w view) bool {
	return v.row == w.row && v.col == w.col && slices.Equal(v.lines, w.lines)
}
