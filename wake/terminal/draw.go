package terminal

import (
	"slices"

	"github.com/charmbracelet/x/ansi"
)

func (s *Screen) print(r rune) {
	width := 1
	if r >= 0x7f {
		width = ansi.StringWidth(string(r))
	}
	if width == 0 {
		return // the character combines with the one before, so ignore it
	}
	p := s.shown
	if s.wraps || p.col+width > s.cols {
		p.col = 0
		s.lineFeed()
	}
	s.wraps = false
	cell := s.pen
	cell.Rune = r
	p.cells[p.row][p.col] = cell
	for i := 1; i < width && p.col+i < s.cols; i++ {
		p.cells[p.row][p.col+i] = Cell{}
	}
	if p.col += width; p.col >= s.cols {
		p.col, s.wraps = s.cols-1, true
	}
}

func (s *Screen) execute(b byte) {
	p := s.shown
	s.wraps = false
	switch b {
	case '\r':
		p.col = 0
	case '\n', '\v', '\f':
		s.lineFeed()
	case '\b':
		p.col = max(0, p.col-1)
	case '\t':
		p.col = min(s.cols-1, (p.col/8+1)*8)
	}
}

func (s *Screen) lineFeed() {
	p := s.shown
	if p.row == p.bottom-1 {
		p.scroll(p.top, 1)
		return
	}
	p.row = min(p.row+1, s.rows-1)
}

// scroll moves the lines from the line top to the end of the scrolling region up by n lines; a
// negative n moves them down.
func (p *page) scroll(top, n int) {
	region := p.cells[top:p.bottom]
	n = max(-len(region), min(n, len(region)))
	if n < 0 {
		slices.Reverse(region)
		defer slices.Reverse(region)
		n = -n
	}
	for range n {
		first := region[0]
		clear(first)
		copy(region, region[1:])
		region[len(region)-1] = first
	}
}

func (s *Screen) esc(cmd ansi.Cmd) {
	p := s.shown
	if cmd.Intermediate() != 0 {
		return // the sequence selects a character set, or similar
	}
	s.wraps = false
	switch cmd.Final() {
	case '7':
		p.saved = [2]int{p.row, p.col}
	case '8':
		s.move(p.saved[0], p.saved[1])
	case 'D':
		s.lineFeed()
	case 'E':
		p.col = 0
		s.lineFeed()
	case 'M':
		if p.row == p.top {
			p.scroll(p.top, -1)
		} else {
			p.row = max(0, p.row-1)
		}
	case 'c':
		s.clear(s.rows, s.cols)
		s.pen, s.pasting, s.hidden = Cell{}, false, false
	}
}

func (s *Screen) move(row, col int) {
	s.wraps = false
	s.shown.row, s.shown.col = max(0, min(row, s.rows-1)), max(0, min(col, s.cols-1))
}

func (s *Screen) csi(cmd ansi.Cmd, params ansi.Params) {
	if cmd.Prefix() == '?' {
		if f := cmd.Final(); f == 'h' || f == 'l' {
			params.ForEach(0, func(_, mode int, _ bool) { s.mode(mode, f == 'h') })
		}
		return
	}
	if cmd.Prefix() != 0 || cmd.Intermediate() != 0 {
		return
	}
	n, _, _ := params.Param(0, 1)
	n = max(n, 1)
	p := s.shown
	switch cmd.Final() {
	case 'A':
		s.move(p.row-n, p.col)
	case 'B', 'e':
		s.move(p.row+n, p.col)
	case 'C', 'a':
		s.move(p.row, p.col+n)
	case 'D':
		s.move(p.row, p.col-n)
	case 'E':
		s.move(p.row+n, 0)
	case 'F':
		s.move(p.row-n, 0)
	case 'G', '`':
		s.move(p.row, n-1)
	case 'd':
		s.move(n-1, p.col)
	case 'H', 'f':
		col, _, _ := params.Param(1, 1)
		s.move(n-1, max(col, 1)-1)
	case 's':
		p.saved = [2]int{p.row, p.col}
	case 'u':
		s.move(p.saved[0], p.saved[1])
	case 'm':
		s.style(params)
	default:
		s.change(cmd.Final(), n, params)
	}
}

// change handles the control sequences that erase, insert, delete or scroll.
func (s *Screen) change(final byte, n int, params ansi.Params) {
	p := s.shown
	line := p.cells[p.row]
	what, _, _ := params.Param(0, 0)
	switch final {
	case 'J':
		s.eraseScreen(what)
	case 'K':
		erase(line, what, p.col)
	case 'X':
		clear(line[p.col:min(p.col+n, s.cols)])
	case 'P':
		n = min(n, s.cols-p.col)
		copy(line[p.col:], line[p.col+n:])
		clear(line[s.cols-n:])
	case '@':
		n = min(n, s.cols-p.col)
		copy(line[p.col+n:], line[p.col:])
		clear(line[p.col : p.col+n])
	case 'L', 'M':
		if p.row < p.top || p.row >= p.bottom {
			return
		}
		if final == 'L' {
			n = -n
		}
		p.scroll(p.row, n)
		p.col = 0
	case 'S':
		p.scroll(p.top, n)
	case 'T':
		p.scroll(p.top, -n)
	case 'r':
		bottom, _, _ := params.Param(1, s.rows)
		p.top, p.bottom = 0, s.rows
		if n-1 < bottom && bottom <= s.rows {
			p.top, p.bottom = n-1, bottom
		}
		s.move(0, 0)
	}
}

func (s *Screen) eraseScreen(what int) {
	p := s.shown
	from, to := 0, s.rows
	switch what {
	case 0:
		erase(p.cells[p.row], 0, p.col)
		from = p.row + 1
	case 1:
		erase(p.cells[p.row], 1, p.col)
		to = p.row
	}
	for _, line := range p.cells[from:to] {
		clear(line)
	}
}

// style tracks faint text: in a prompt, clients draw their own hints faint, but not the text that a
// person has typed.
func (s *Screen) style(params ansi.Params) {
	if len(params) == 0 {
		s.pen = Cell{}
	}
	for i := 0; i < len(params); i++ {
		switch params[i].Param(0) {
		case 0:
			s.pen = Cell{}
		case 2:
			s.pen.Faint = true
		case 22:
			s.pen.Faint = false
		case 38, 48, 58: // a colour: 5;n or 2;r;g;b
			if i+1 < len(params) && params[i+1].Param(0) == 5 {
				i += 2
			} else {
				i += 4
			}
		}
	}
}

func erase(line []Cell, what, col int) {
	switch what {
	case 0:
		clear(line[col:])
	case 1:
		clear(line[:min(col+1, len(line))])
	case 2:
		clear(line)
	}
}

func (s *Screen) mode(mode int, on bool) {
	switch mode {
	case 25:
		s.hidden = !on
	case 2004:
		s.pasting = on
	case 47, 1047, 1049:
		if on && s.shown != s.alt {
			s.alt = newPage(s.rows, s.cols)
			s.shown = s.alt
		} else if !on {
			s.shown = s.main
		}
		s.wraps = false
	}
}
