// This part keeps a copy of what a terminal shows, so that c2c can read a client's prompt before it
// types there.
//
// It understands all output that the clients known to c2c were seen to use: text, cursor movement,
// erasing, scrolling, insertion and deletion, the alternate screen. A library parses the control
// sequences, and the package ignores those that it does not know. If the copy is wrong for this
// reason, or if the terminal is too large for a copy, c2c finds no idle prompt in it, and types
// nothing. The package draws 100 MB of text in a second; the terminal of a library
// (charmbracelet/x/vt, April 2026) drew 1 MB. The package writes nothing to disk. One goroutine at
// a time may use a Screen.

package terminal

import (
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/ansi/parser"
)

// Cell is the place of one character on the screen.
type Cell struct {
	Rune  rune // 0: the cell is empty, or the second half of a wide character
	Faint bool // drawn dim, as clients draw their own hints in a prompt
}

// Screen is a copy of what a terminal shows.
type Screen struct {
	parser     *ansi.Parser
	rows, cols int
	shown      *page // main or alt
	main, alt  *page
	pen        Cell // how the next character is drawn
	wraps      bool // the next character goes to the beginning of the next line
	pasting    bool // the client asked for brackets around a paste, to distinguish a paste from typed keys
	hidden     bool // the cursor is hidden
}

// page is the main screen or the alternate one.
type page struct {
	cells       [][]Cell
	row, col    int    // the place of the cursor
	saved       [2]int // the place that the client has saved, to move the cursor back to it
	top, bottom int    // the scrolling region, bottom excluded
}

// NewScreen returns an empty screen.
func NewScreen(rows, cols int) *Screen {
	s := &Screen{parser: ansi.NewParser()}
	s.parser.SetDataSize(1 << 10) // how many bytes of a title the parser keeps; nothing reads titles
	s.parser.SetHandler(ansi.Handler{
		Print: s.print, Execute: s.execute, HandleCsi: s.csi, HandleEsc: s.esc,
	})
	s.clear(rows, cols)
	return s
}

// maxCells bounds the memory of a screen: any program in a terminal can set its size, up to 65535
// lines of 65535 columns.
const maxCells = 1 << 20 // on one page; all usual terminals have fewer

// clear empties both pages and shows the main one. For a terminal with too many cells, the copy has
// only one cell. A copy that is only smaller would break lines at wrong places, and could show a
// prompt where there is none.
func (s *Screen) clear(rows, cols int) {
	rows, cols = max(rows, 1), max(cols, 1)
	if rows > maxCells/cols {
		rows, cols = 1, 1
	}
	s.rows, s.cols, s.wraps = rows, cols, false
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
			s.print(rune(c)) // most bytes come here, so this shortcut saves time
		// Drop bytes from 0x80 on inside a title: they are parts of UTF-8 characters, but the
		// parser would take 0x9c for the title's end.
		case c < 0x80 || state == parser.GroundState || state == parser.Utf8State:
			s.parser.Advance(c)
		}
	}
	return len(b), nil
}

// Resize clears the screen, because the client will draw everything again in the new size.
func (s *Screen) Resize(rows, cols int) {
	on := s.shown == s.alt
	s.clear(rows, cols)
	if on {
		s.shown = s.alt
	}
}

// Line returns one line of the screen, counted from 0.
func (s *Screen) Line(row int) []Cell { return s.shown.cells[row] }

// Rows returns the number of lines.
func (s *Screen) Rows() int { return s.rows }

// Position returns the place of the cursor, counted from 0, and whether the cursor is visible.
func (s *Screen) Position() (row, col int, visible bool) {
	return s.shown.row, s.shown.col, !s.hidden
}

// LineText returns the text of a line without the blanks at its end.
func LineText(line []Cell) string {
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

// Same reports whether two screens show the same text, with the cursor at the same place. Colours
// do not count, because a cursor that the client draws may blink.
func (s *Screen) Same(other *Screen) bool {
	return s.shown.row == other.shown.row && s.shown.col == other.shown.col && s.String() == other.String()
}
