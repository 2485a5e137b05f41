package watch

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gdamore/tcell/v2"

	"c2c/broker"
	"c2c/inbox/mail"
	"c2c/internal/format"
)

var (
	plain = tcell.StyleDefault
	bold  = plain.Bold(true)
	dim   = plain.Dim(true)
	bar   = plain.Reverse(true)
)

// area is a part of the screen.
type area struct{ x, y, w, h int }

func (r area) has(x, y int) bool { return x >= r.x && x < r.x+r.w && y >= r.y && y < r.y+r.h }

// hit is an area in which a click acts like a key.
type hit struct {
	area
	key rune
}

// line is one line of a message on the screen. Line 0 is the head of the message, the other lines
// are its body.
type line struct {
	mailView *mailView
	n        int
}

type part struct {
	text  string
	style tcell.Style
}

// canvas is the surface for drawing.
type canvas struct {
	screen  tcell.Screen
	colours map[string]int // colours of the drawn names, as indexes into palette
}

// put draws a text, cut to limit columns, and returns how many columns the text takes.
func (c *canvas) put(x, y, limit int, text string, style tcell.Style) (used int) {
	cells(cut(text, limit), func(char string, w int) bool {
		c.screen.Put(x+used, y, char, style)
		used += w
		return true
	})
	return used
}

// fill draws a text, and fills the rest of the area with blanks.
func (c *canvas) fill(r area, text string, style tcell.Style) {
	for n := c.put(r.x, r.y, r.w, text, style); n < r.w; n++ {
		c.screen.Put(r.x+n, r.y, " ", style)
	}
}

// draw draws everything again. The library writes only changed cells to the terminal.
func (a *app) draw() {
	w, h := a.screen.Size()
	a.screen.Clear()
	a.screen.HideCursor()
	a.keys = nil
	if w < 20 || h < 6 {
		a.put(0, 0, w, "too small", plain)
		a.screen.Show()
		return
	}
	a.drawHead(w)
	status := a.status(w, max(1, min(3, h-9)))
	bottom := h - 1 - len(status)
	if a.typing != nil {
		bottom = a.drawEditor(w, h-2)
	}
	if side := w >= 64 && a.view == inMail || w >= 100; side { // a line of the other views is long
		left := min(34, w/3)
		if w >= 100 && a.view == inMail {
			_, wants := a.layOut(w/2 - 1)
			left = max(w/3, wants+1)
		}
		a.left = area{0, 1, left, bottom - 1}
		a.right = area{a.left.w + 1, 1, w - a.left.w - 1, bottom - 1}
		for y := 1; y < bottom; y++ {
			a.screen.Put(a.left.w, y, "│", dim)
		}
	} else {
		a.left = area{0, 1, w, min(len(a.lines)+1, max(3, (bottom-1)/3))}
		a.right = area{0, 1 + a.left.h, w, bottom - 1 - a.left.h}
	}
	a.list = area{a.left.x, a.left.y + 1, a.left.w, a.left.h - 1}
	a.drawSessions()
	a.drawMail()
	if a.typing == nil {
		for i, text := range status {
			a.put(0, bottom+i, w, text, dim)
		}
	}
	if a.box != nil {
		a.drawBox(w, h)
	}
	a.drawKeys(w, h-1)
	a.screen.Show()
}

func clock(at time.Time) string { return format.Clock(at, time.Now()) }

type wrapping struct {
	width int
	whole bool
}

// flowLines is the number of lines that the flow shows of each body. The flow is the list of
// messages as they arrive.
const flowLines = 4

func (m *mailView) body(columns int, whole bool) []textLine {
	if k := (wrapping{columns, whole}); k != m.wrapping {
		text := strings.TrimSpace(m.Content)
		if most := (columns + 1) * flowLines * 4; !whole && len(text) > most { // a body may have megabytes of characters without width
			text = strings.ToValidUTF8(text[:most], "")
		}
		lines := layout(clean(text), columns)
		if !whole && len(lines) > flowLines {
			last := lines[flowLines-1]
			lines = append(lines[:flowLines-1:flowLines-1], textLine{cut(last.text, columns-2) + " …", last.style})
		}
		m.wrapped, m.wrapping = lines, k
	}
	return m.wrapped
}

func (m *mailView) became() string {
	text := broker.MessageStatus{State: m.fate.State, At: m.fate.At, HandedAt: m.fate.HandedAt}.Became(time.Now())
	if m.fate.Why != "" {
		text += ": " + m.fate.Why
	}
	return text
}

// mailLines returns the lines of a pane. In the views waiting and timeline each message has one
// line.
func mailLines(p *pane, columns int, single bool) (lines []line) {
	for _, m := range p.mails {
		if single {
			lines = append(lines, line{m, 0})
			continue
		}
		for n := range 1 + len(m.body(columns-2, p.whole)) {
			lines = append(lines, line{m, n})
		}
	}
	return lines
}

// parts returns the parts of a line, each with its style.
func (c *canvas) parts(l line, columns int, whole bool) []part {
	m := l.mailView
	if l.n > 0 {
		body := m.body(columns-2, whole)[l.n-1]
		edge := "  "
		if body.style == code { // a block of code stands behind a bar
			edge = "▏ "
		}
		return []part{{edge, dim}, {body.text, body.style}}
	}
	head := []part{{clock(m.Time()) + " ", dim}, {word(m.From), c.colourOf(m.From)}, {" → ", dim}, {word(m.To), c.colourOf(m.To)}}
	switch by := mail.By(m.Message); by {
	case "":
	case mail.ByOutside, mail.ByClaim:
		head = slices.Insert(head, 2, part{" (" + by + ")", bold})
	default:
		head = slices.Insert(head, 2, part{" (" + by + ")", dim})
	}
	for _, more := range []string{m.Kind, m.Tag} {
		if more != "" && more != "message" {
			head = append(head, part{" " + word(more), bold})
		}
	}
	tail := word(m.became())
	if columns < 60 {
		tail = m.fate.State
	}
	style := dim
	if s, known := stateStyles[m.fate.State]; known {
		style = s
	}
	head = append(head, part{" · ", dim}, part{tail, style})
	if m.InReplyTo != "" {
		head = append(head, part{" · answers " + word(mail.ShortID(m.InReplyTo)), dim})
	}
	return head
}

func (a *app) drawMail() {
	p := a.pane()
	view := area{a.right.x, a.right.y + 1, a.right.w, a.right.h - 1}
	columns := view.w - 2 // leave out the mark of the selection, and the scroll bar
	single := a.view != inMail
	a.shown = mailLines(p, columns, single)
	if len(a.shown) == 0 {
		nothing := "  nothing yet"
		if a.view == waiting {
			nothing = "  nobody waits for an answer"
		}
		a.drawTitle(a.right, p.title, "")
		a.put(view.x, view.y, view.w, nothing, dim)
		return
	}
	selected, names := p.message(), 0
	var answeredAt map[string]time.Time
	if single {
		names, answeredAt = namesWidth(p, columns), answers(p)
	}
	p.show(a.shown, view)
	title := p.title
	if a.view == timeline {
		title = "timeline of " + title
	}
	a.drawTitle(a.right, title, p.position(len(a.shown), view.h))
	a.drawBar(area{view.x + view.w - 1, view.y, 1, view.h}, p.top, len(a.shown), " ")
	for y := range view.h {
		if p.top+y >= len(a.shown) {
			break
		}
		l := a.shown[p.top+y]
		edge := " "
		if l.mailView == selected && !a.onList {
			edge = "▌"
		}
		x := view.x + a.put(view.x, view.y+y, 1, edge, bold)
		parts := []part(nil)
		switch {
		case l.mailView.waits != nil:
			parts = a.waitParts(l.mailView, names)
		case single:
			parts = a.lane(l.mailView, width(clock(p.mails[0].Time())), names, answeredAt)
		default:
			parts = a.parts(l, columns, p.whole)
		}
		for _, part := range parts {
			x += a.put(x, view.y+y, view.x+view.w-1-x, part.text, part.style)
		}
	}
}

// position describes which part of a pane is visible.
func (p *pane) position(lines, height int) string {
	switch {
	case p.whole && lines > height:
		return fmt.Sprintf("lines %d–%d of %d", p.top+1, min(p.top+height, lines), lines)
	case p.whole:
		return format.Count(len(p.mails), "message", "messages")
	case p.selected == nil:
		return "newest"
	}
	return fmt.Sprintf("%d of %d", slices.Index(p.mails, p.selected)+1, len(p.mails))
}

// drawTitle draws the first line of an area: its title, and at the right a text that says which
// part of it is visible.
func (c *canvas) drawTitle(r area, title, position string) {
	room := r.w - width(position) - 3
	c.fill(area{r.x, r.y, r.w, 1}, " "+cut(title, room)+strings.Repeat(" ", max(1, room-width(cut(title, room))+1))+position, plain.Underline(true))
}

// drawBar draws the scroll bar beside a view. The argument between is drawn on the part of the bar
// that stands for lines outside the view.
func (c *canvas) drawBar(r area, top, lines int, between string) {
	if lines <= r.h || r.h < 1 {
		return
	}
	size := max(1, r.h*r.h/lines)
	from := (r.h - size) * top / (lines - r.h)
	for y := range r.h {
		text, style := between, dim
		if y >= from && y < from+size {
			text, style = "┃", bold
		}
		c.screen.Put(r.x, r.y+y, text, style)
	}
}

// show scrolls if the selection or the view has changed since the last call: to the selected
// message, or to as much of it as fits.
func (p *pane) show(lines []line, view area) {
	last := max(0, len(lines)-view.h)
	if p.selected == nil {
		if p.top = last; p.whole {
			p.top = 0
		}
	}
	if now := (shown{p.selected, view}); now != p.shown {
		p.shown = now
		from := slices.IndexFunc(lines, func(l line) bool { return l.mailView == p.selected })
		to := from
		for to >= 0 && to+1 < len(lines) && lines[to+1].mailView == p.selected {
			to++
		}
		if from >= 0 {
			p.top = min(max(p.top, to-view.h+1), from)
		}
	}
	p.top = max(0, min(p.top, last))
}

// drawEditor draws the editor above the last line, and returns its first row.
func (a *app) drawEditor(w, bottom int) (top int) {
	e := a.typing
	lines, row, col := e.layout(w - 1)
	height := 1
	if !e.one {
		height = max(3, min(len(lines), 8))
	}
	height = min(height, max(1, bottom-6))
	top = bottom - height
	title := " " + e.title
	if a.says != "" {
		title += " · " + word(a.says)
	}
	a.fill(area{0, top, w, 1}, title, bar)
	first := max(0, row-height+1)
	for y, text := range lines[first:min(first+height, len(lines))] {
		a.put(0, top+1+y, w, text, plain)
	}
	a.screen.ShowCursor(col, top+1+row-first)
	return top
}

func (a *app) drawBox(w, h int) {
	inner := min(w-4, 76)
	var lines []string
	for _, text := range a.box {
		lines = append(lines, wrap(text, inner)...)
	}
	if a.hidden = nil; len(lines) > h-4 {
		a.hidden = lines[h-5:]
		lines = append(lines[:h-5:h-5], "…")
	}
	r := area{(w - inner - 4) / 2, max(1, (h-len(lines)-2)/2), inner + 4, 1}
	for y := -1; y <= len(lines); y++ {
		text := ""
		if y >= 0 && y < len(lines) {
			text = lines[y]
		}
		a.fill(area{r.x, r.y + 1 + y, r.w, 1}, "  "+text, bar)
	}
}

func (a *app) drawKeys(w, y int) {
	x := 0
	for _, k := range a.help() {
		text := string(k.key)
		switch k.key {
		case tab:
			text = "Tab"
		case enter:
			text = "Enter"
		case esc:
			text = "Esc"
		case '^':
			text = "^J"
		}
		n := width(text) + 1 + width(k.says)
		if x+n > w {
			break
		}
		a.keys = append(a.keys, hit{area{x, y, n, 1}, k.key})
		x += a.put(x, y, w-x, text, bold)
		x += a.put(x, y, w-x, " "+k.says, dim) + 2
	}
}
