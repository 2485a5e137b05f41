package watch

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/gdamore/tcell/v2"

	"c2c/broker"
	"c2c/inbox/mail"
	"c2c/internal/format"
	"c2c/serve/live"
	"c2c/sessions"
)

// The views, as indexes of views.
const (
	inMail = iota
	waiting
	timeline
)

// views has the names of the views; the key of the first one is 1.
var views = []string{"mail", "waiting", "timeline"}

// maxWaits bounds the lines of the view waiting.
const maxWaits = 1000

// readWaits reads who waits for whom, for the view waiting.
func (a *app) readWaits() {
	if a.view != waiting || a.b == nil || a.reads {
		return
	}
	a.reads = true
	ctx, b := a.ctx, a.b
	a.background(func() func() {
		// A person may see the obligations of all sessions.
		all, err := broker.Obligations(ctx, b.Registry, sessions.Session{State: sessions.Person, KnownBy: mail.ByPerson}, false)
		return func() {
			if a.reads = false; a.b == b {
				a.setWaits(all)
			}
			if err != nil {
				a.says = err.Error()
			}
		}
	})
}

// setWaits makes the view: who waits for whom, the longest wait first. It keeps the selection.
func (a *app) setWaits(open []broker.Obligation) {
	was := a.waits.message()
	a.waits = pane{title: "who waits for whom", top: a.waits.top}
	all, _ := broker.WhoWaits(open, maxWaits)
	for i, w := range all {
		o := w.Oldest
		m := &mailView{Message: mail.Message{ID: o.ID, From: o.From, To: o.To, TS: mail.Seconds(o.SentAt), Content: o.Words, Kind: o.Kind}, fate: &live.Mail{SessionID: o.SessionID}, waits: &w}
		a.waits.mails = append(a.waits.mails, m)
		if i == 0 || was != nil && m.ID == was.ID {
			a.waits.selected = m
		}
	}
}

// waitParts returns the parts of a line of the view waiting.
func (c *canvas) waitParts(m *mailView, names int) []part {
	o := m.waits.Oldest
	sign, due, style := "  ", "due in "+format.Age(time.Until(o.Due)), dim
	if m.waits.Circle {
		sign = "↻ "
	}
	if late := time.Since(o.Due); late > 0 {
		due, style = "late "+format.Age(late), signs[sessions.Waiting].style
	}
	parts := []part{{sign, signs[sessions.Waiting].style}, {fmt.Sprintf("%7s  ", since(m.Time())), dim}, {padded(m.From, names), c.colourOf(m.From)}, {" → ", dim}, {padded(m.To, names), c.colourOf(m.To)},
		{fmt.Sprintf(" %-8s ", word(m.Kind)), bold}, {due + "  ", style}}
	if more := m.waits.Count - 1; more > 0 {
		parts = append(parts, part{fmt.Sprintf("and %d more  ", more), dim})
	}
	parts = append(parts, part{word(m.PlainWords(60)), plain})
	if o.Why != "" {
		parts = append(parts, part{"  " + word(o.Why), dim})
	}
	return parts
}

// padded returns a name, cut or filled to a width.
func padded(name string, w int) string {
	name = cut(word(name), w)
	return name + strings.Repeat(" ", max(0, w-width(name)))
}

// namesWidth is the width of the names in a view with one line for each message.
func namesWidth(p *pane, columns int) (w int) {
	for _, m := range p.mails {
		w = max(w, width(word(m.From)), width(word(m.To)))
	}
	return min(w, max(10, columns/6))
}

// goThere brings the terminal of a session to the front.
func (a *app) goThere(s sessions.Listed) {
	a.job(func(ctx context.Context, b *broker.Broker) (string, func(), error) {
		return "the terminal of " + s.Alias + " is in front", nil, a.cfg.Show(ctx, b, s)
	})
}

// see shows another view.
func (a *app) see(view int) {
	if a.view, a.onList = view, false; view == waiting {
		a.found = nil
	}
	a.readWaits()
}

// stateStyles has the colour of each state of a message.
var stateStyles = map[string]tcell.Style{
	sessions.Queued: plain.Foreground(tcell.PaletteColor(136)),
	sessions.Rung:   plain.Foreground(tcell.PaletteColor(37)),
	sessions.Handed: plain.Foreground(tcell.PaletteColor(33)),
	sessions.Read:   plain.Foreground(tcell.PaletteColor(64)),
	answered:        bold.Foreground(tcell.PaletteColor(64)),
	sessions.Dead:   bold.Foreground(tcell.PaletteColor(160)),
	"expired":       bold.Foreground(tcell.PaletteColor(160)),
}
