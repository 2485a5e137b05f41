// Package watch is the full-screen view of c2c watch: it shows the sessions of a root and their mail as it flows, and
// lets a person read and write. It takes only the person's own mail, and only when the person says so.
//
// One goroutine draws and answers keys. It sleeps until something happens, and writes only what has changed to the
// terminal. It cleans whatever others have written, so that no control sequence of theirs reaches the terminal.
package watch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/gdamore/tcell/v2"

	"c2c/broker"
	"c2c/inbox/mail"
	"c2c/live"
	"c2c/sessions"
)

// Config is what the screen needs.
type Config struct {
	Open func(context.Context) (*broker.Broker, error) // the root, once it is there
	// Who returns the session of the person at the screen.
	Who func(context.Context, *broker.Broker) (sessions.Session, error)
	// Left is told what was typed and not sent when the screen is closed.
	Left io.Writer
}

// backlog is how many messages are there at the beginning, maxMails how many are kept, maxFlow how many bytes of each.
const (
	backlog  = 300
	maxMails = 2000
	maxFlow  = 16 << 10
)

// app is the state of the screen.
type app struct {
	canvas
	roster
	worker
	cfg   Config
	b     *broker.Broker
	known *live.Mails
	mails []*mailView // those that are known

	onList bool // the keys move in the list of sessions, not among the messages
	flow   pane
	found  *pane // a thread, or what a search has found, in front of the flow
	typing *editor
	drafts map[string][]rune // what was not sent, by the title of its editor
	box    []string          // a text in front of everything
	hidden []string          // of box, what the screen has no room for
	says   string            // the last line but one
	quit   bool

	// What was drawn where, for the mouse.
	keys       []hit
	left, list area // the whole left side, and its list
	right      area
	lines      []line
}

// worker does what is slow beside the goroutine that draws, and gives that the results.
type worker struct {
	ctx     context.Context
	jobs    sync.WaitGroup
	results chan func()
}

// mail is a message as it is shown. What has become of it is one thing for the flow and for what is in front of it.
type mailView struct {
	mail.Message
	fate *live.Mail

	wrapped  []textLine // the body, as it was wrapped last
	wrapping wrapping
}

// pane is a list of messages; one of them is selected.
type pane struct {
	title    string
	mails    []*mailView
	selected *mailView // nil: the last one, whatever comes
	top      int       // the first line that is shown
	shown    shown
	whole    bool // bodies are not cut off
	thread   bool // answers join it
}

// shown records for which selection and area the last drawing has scrolled a pane.
type shown struct {
	selected *mailView
	view     area
}

// Run shows the screen until the person leaves or ctx ends. The terminal is then as it was.
func Run(ctx context.Context, cfg Config) error {
	screen, err := tcell.NewScreen()
	if err == nil {
		err = screen.Init()
	}
	if err != nil {
		return fmt.Errorf("open the terminal: %w; c2c monitor needs none", err)
	}
	defer screen.Fini() // when something panics, too
	screen.EnableMouse(tcell.MouseButtonEvents)
	screen.EnablePaste()
	a := newApp(cfg, screen)
	err = a.run(ctx)
	screen.Fini()
	a.tellDrafts(cfg.Left)
	return err
}

func newMails() *live.Mails { return live.NewMails(maxMails, maxFlow) }

func newApp(cfg Config, screen tcell.Screen) *app {
	return &app{canvas: canvas{screen: screen, colours: map[string]int{}}, worker: worker{results: make(chan func())},
		cfg: cfg, known: newMails(), drafts: map[string][]rune{}, onList: true}
}

func (a *app) run(ctx context.Context) (err error) {
	if a.b, err = a.cfg.Open(ctx); err != nil {
		return err
	}
	var cancel context.CancelFunc
	a.ctx, cancel = context.WithCancel(ctx)
	defer func() {
		cancel()
		a.jobs.Wait()
		a.b.Close()
	}()
	var failed error
	a.background(func() func() {
		err := a.follow()
		return func() { failed = err }
	})
	events, stop := make(chan tcell.Event), make(chan struct{})
	go a.screen.ChannelEvents(events, stop)
	defer close(stop)
	pasting := false
	for !a.quit && failed == nil {
		if !pasting { // what is pasted comes character by character
			a.draw()
		}
		select {
		case <-a.ctx.Done():
			return nil
		case f := <-a.results:
			f()
		case e := <-events:
			if p, ok := e.(*tcell.EventPaste); ok {
				pasting = p.Start()
			}
			a.event(e, pasting)
		}
	}
	return failed
}

// background does something slow. What it returns is done by the goroutine that draws. A panic is one of that goroutine's,
// which gives the terminal back.
func (w *worker) background(do func() func()) {
	w.jobs.Go(func() {
		var then func()
		defer func() {
			if p := recover(); p != nil {
				then = func() { panic(p) }
			}
			if then != nil {
				w.then(then)
			}
		}()
		then = do()
	})
}

func (w *worker) then(f func()) {
	select {
	case w.results <- f:
	case <-w.ctx.Done():
	}
}

// follow looks at the root until the screen is closed. When the root is made anew, it begins again.
func (a *app) follow() error {
	b := a.b
	for {
		err := live.New(live.Config{Broker: b, Backlog: backlog}).Run(a.ctx, func(u live.Update) error {
			a.then(func() { a.update(u) })
			return nil
		})
		if !errors.Is(err, live.ErrReplaced) {
			return err
		}
		if b, err = a.cfg.Open(a.ctx); err != nil {
			return err
		}
		a.then(func() {
			a.b.Close()
			a.b, a.all, a.sessions, a.mails, a.known = b, nil, nil, nil, newMails()
			a.found, a.flow, a.picked, a.says = nil, pane{}, "", "the root was removed or made anew"
		})
	}
}

// update takes in what has changed.
func (a *app) update(u live.Update) {
	if u.Sessions != nil {
		a.order(u.Sessions)
	}
	a.known.Add(u.Events)
	for _, e := range u.Events {
		switch e.What {
		case live.Stored:
			a.stored(e)
		case live.Damaged:
			a.says = "the mailbox of " + e.Alias + " is damaged: " + e.Why
		}
	}
	a.mails = a.mails[max(0, len(a.mails)-maxMails):]
}

// stored takes in a message that has come. The flow has of a body what it may show, because it has many.
func (a *app) stored(e live.Event) {
	known := a.known.Known(e.Fingerprint)
	if known == nil {
		return // more came at once than are kept
	}
	if t := a.found; t != nil && t.thread && e.Message.InReplyTo != "" && slices.ContainsFunc(t.mails, func(o *mailView) bool { return o.ID == e.Message.InReplyTo }) {
		t.mails = append(t.mails, &mailView{Message: e.Message, fate: known})
	}
	a.mails = append(a.mails, &mailView{Message: known.Message, fate: known})
}

// pane is the list that is shown.
func (a *app) pane() *pane {
	if a.found != nil {
		return a.found
	}
	a.flow.mails, a.flow.title = a.mails, "all mail"
	if s := a.session(); s != nil {
		a.flow.title, a.flow.mails = "mail of "+s.Alias, nil
		for _, m := range a.mails {
			if m.fate.SessionID == s.ID || m.From == s.Alias || m.To == s.Alias {
				a.flow.mails = append(a.flow.mails, m)
			}
		}
	}
	return &a.flow
}

// message is the one that is selected, or nil.
func (p *pane) message() *mailView {
	if p.selected == nil && len(p.mails) > 0 {
		return p.mails[len(p.mails)-1]
	}
	return p.selected
}
