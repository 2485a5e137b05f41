// Package screen keeps a picture of a terminal, so that c2c can read what stands in a client's prompt before it types
// there.
//
// It follows what the measured clients draw with: text, cursor movement,
// erasing, scrolling, insertion and deletion, the alternate screen. The
// sequences are taken apart by a library; what it does not know is left out of
// the picture, and a picture that is wrong shows no idle prompt. The terminal of
// a library (charmbracelet/x/vt, April 2026) drew 1 MB/s of text, and this one
// 100. Nothing is on disk. One goroutine at a time may use a Screen.
package screen

import (
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/ansi/parser"
)

// Cell is one place on the screen.
type Cell struct {
	Rune  rune // 0: nothing was drawn here, or it is the second half of a wide one
	Faint bool // drawn dim, as a hint is
}

// Screen is a terminal's picture.
type Screen struct {
	parser     *ansi.Parser
	rows, cols int
	shown      *page
	main, alt  *page
	pen        Cell
	wraps      bool // the next character goes to the next line
	pasting    bool // the client asked for brackets around what is pasted, to tell it from what is typed
	hidden     bool // the cursor
}

// page is the main screen or the alternate one.
type page struct {
	cells       [][]Cell
	row, col    int
	saved       [2]int
	top, bottom int // of the scrolling region, bottom excluded
}

// New is an empty screen.
func New(rows, cols int) *Screen {
	s := &Screen{parser: ansi.NewParser()}
	s.parser.SetDataSize(1 << 10) // titles and the like are not looked at
	s.parser.SetHandler(ansi.Handler{
		Print: s.print, Execute: s.execute, HandleCsi: s.csi, HandleEsc: s.esc,
	})
	s.clear(rows, cols)
	return s
}

// clear empties both pages and shows the main one.
func (s *Screen) clear(rows, cols int) {
	s.rows, s.cols, s.wraps = max(rows, 1), max(cols, 1), false
	s.main, s.alt = newPage(s.rows, s.cols), newPage(s.rows, s.cols)
	s.shown = s.main
}

func newPage(rows, cols int) *page {
	p := &page{cells: make([][]Cell, rows), bottom: rows}
	for i := range p.cells {
		p.cells[i] = make([]Cell, cols)
	}
	return p
}

// Write draws what a client has written.
func (s *Screen) Write(b []byte) (int, error) {
	for _, c := range b {
		switch state := s.parser.State(); {
		case state == parser.GroundState && c >= ' ' && c < 0x7f:
			s.print(rune(c)) // most of it, and quicker so
		// Inside a title a byte from 0x80 is UTF-8: the parser would take 0x9c for the title's end.
		case c < 0x80 || state == parser.GroundState || state == parser.Utf8State:
			s.parser.Advance(c)
		}
	}
	return len(b), nil
}

// Resize forgets the picture: a client draws it anew in the new size.
func (s *Screen) Resize(rows, cols int) {
	on := s.shown == s.alt
	s.clear(rows, cols)
	if on {
		s.shown = s.alt
	}
}

// Line is one line of the picture, from 0.
func (s *Screen) Line(row int) []Cell { return s.shown.cells[row] }

// Rows is how many lines there are.
func (s *Screen) Rows() int { return s.rows }

// Position is where the cursor is, from 0, and whether it can be seen.
func (s *Screen) Position() (row, col int, visible bool) {
	return s.shown.row, s.shown.col, !s.hidden
}

// Text is a line without what surrounds its words.
func Text(line []Cell) string {
	text := make([]rune, 0, len(line))
	for i, c := range line {
		if c.Rune == 0 {
			if i > 0 && ansi.StringWidth(string(line[i-1].Rune)) == 2 {
				continue
			}
			c.Rune = ' '
		}
		text = append(text, c.Rune)
	}
	for len(text) > 0 && text[len(text)-1] == ' ' {
		text = text[:len(text)-1]
	}
	return string(text)
}

func (s *Screen) String() string { return s.text(0, s.rows) }

// Same says whether two pictures show the same text, with the cursor at the same place. Colours do not count: a
// cursor that the client draws may blink.
func (s *Screen) Same(other *Screen) bool {
	return s.shown.row == other.shown.row && s.shown.col == other.shown.col && s.String() == other.String()
}
