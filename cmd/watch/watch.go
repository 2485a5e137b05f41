// Package watch is the screen of c2c watch: it shows the sessions of a root and their mail as it
// arrives, who waits for whom, and how far each message has come, and lets a person read and write.
// Another project is one line of the list, until the person goes there. It takes only the person's
// own mail, and only when the person asks for that.
//
// One goroutine draws and handles keys. It sleeps until something happens, and writes only changes
// to the terminal. It cleans all foreign text, so that no foreign control sequence reaches the
// terminal.
package watch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/gdamore/tcell/v2"

	"c2c/broker"
	"c2c/inbox/mail"
	"c2c/serve/live"
	"c2c/sessions"
	"c2c/wake"
)

// Config configures the screen.
type Config struct {
	// Open opens a root, or for "" that of the caller; it waits until the root exists.
	Open func(ctx context.Context, root string) (*broker.Broker, error)
	Name func(root string) string // how a person names the project
	// Look reads what stands around the sessions of a root.
	Look func(context.Context, *broker.Broker) (Around, error)
	// Show brings the terminal of a session to the front.
	Show func(context.Context, *broker.Broker, sessions.Listed) error
	// Who returns the session of the person at the screen.
	Who func(context.Context, *broker.Broker) (sessions.Session, error)
	// Left gets the typed texts that were not sent, when the screen is closed.
	Left io.Writer
}

// At first the screen shows the newest messages, at most backlog. It keeps at most maxMails
// messages, and at most maxFlow bytes of each.
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
	cfg    Config
	b      *broker.Broker
	leave  context.CancelFunc // ends following the root
	failed error
	known  *live.Mails
	mails  []*mailView // the kept messages

	onList bool                        // the keys select a session of the list, not a message
	view   int                         // an index of views
	flow   pane                        // the messages as they arrive
	waits  pane                        // who waits for whom
	reads  bool                        // waits is being read
	steps  map[mail.Fingerprint][]step // how far each kept message has come, see timeline.go
	found  *pane                       // a thread, or the result of a search, in front of the flow
	typing *editor
	drafts map[string][]rune // unsent texts, by the title of the editor
	box    []string          // a text in front of everything
	hidden []string          // lines of box for which the screen has no room
	says   string            // the text above the last line of the screen
	quit   bool

	// The drawn areas, for the mouse.
	keys       []hit
	left, list area // the whole left side, and its list
	right      area
	shown      []line
}

// worker runs slow work outside the drawing goroutine, and passes the results to it.
type worker struct {
	ctx     context.Context
	jobs    sync.WaitGroup
	results chan func()
}

// mailView is a message on the screen. The flow and the pane in front have the same
// pointer in the field fate of a message, so both show the same state.
type mailView struct {
	mail.Message
	fate  *live.Mail
	waits *broker.Waiting // in the view waiting: what it stands for

	wrapped  []textLine // the lines of the body, from the last wrapping
	wrapping wrapping
}

// pane is a list of messages; one of them is selected.
type pane struct {
	title    string
	mails    []*mailView
	selected *mailView // nil: always the newest
	top      int       // the first visible line
	shown    shown
	whole    bool // bodies are not cut
	thread   bool // it is a thread, so new answers are added
}

// shown has the selection and the area that a pane had when the method show last scrolled it.
type shown struct {
	selected *mailView
	view     area
}

// Run shows the screen until the person leaves or ctx ends. Then it restores the terminal.
func Run(ctx context.Context, cfg Config) error {
	screen, err := tcell.NewScreen()
	if err == nil {
		err = screen.Init()
	}
	if err != nil {
		return fmt.Errorf("open the terminal: %w; c2c monitor needs none", err)
	}
	defer screen.Fini() // after a panic, too
	screen.EnableMouse(tcell.MouseButtonEvents)
	screen.EnablePaste()
	a := newApp(cfg, screen)
	err = a.run(ctx)
	screen.Fini()
	a.tellDrafts(cfg.Left)
	return err
}

func newMails() *live.Mails {
	m := live.NewMails(maxMails, maxFlow)
	m.Posts = true
	return m
}

func newApp(cfg Config, screen tcell.Screen) *app {
	return &app{canvas: canvas{screen: screen, colours: map[string]int{}}, worker: worker{results: make(chan func())},
		cfg: cfg, known: newMails(), steps: map[mail.Fingerprint][]step{}, drafts: map[string][]rune{}, onList: true}
}

func (a *app) run(ctx context.Context) (err error) {
	if a.b, err = a.cfg.Open(ctx, ""); err != nil {
		return err
	}
	var cancel context.CancelFunc
	a.ctx, cancel = context.WithCancel(ctx)
	defer func() {
		cancel()
		a.jobs.Wait()
		a.b.Close()
	}()
	a.begin(a.b, "")
	again := time.NewTicker(lookAgain)
	defer again.Stop()
	events, stop := make(chan tcell.Event), make(chan struct{})
	go a.screen.ChannelEvents(events, stop)
	defer close(stop)
	// Before tcell tells the size, it takes each click for one on the first cell, so nothing is
	// drawn that one could click. A paste comes character by character.
	sized, pasting := false, false
	for !a.quit && a.failed == nil {
		if sized && !pasting {
			a.draw()
		}
		select {
		case <-a.ctx.Done():
			return nil
		case f := <-a.results:
			f()
		case <-again.C:
			a.look()
		case e := <-events:
			sized = true // its first event
			if p, ok := e.(*tcell.EventPaste); ok {
				pasting = p.Start()
			}
			a.event(e, pasting)
		}
	}
	return a.failed
}

// background calls the function do in a new goroutine. Then the drawing goroutine calls the result
// of do. After a panic in do, the drawing goroutine panics, too, and so restores the terminal.
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

// lookAgain is the time between two looks at what stands around the sessions.
const lookAgain = 20 * time.Second

// begin shows an open root from the beginning, and follows it until the screen is closed or shows
// another one. The argument root is that of Config.Open.
func (a *app) begin(b *broker.Broker, root string) {
	ctx, leave := context.WithCancel(a.ctx)
	a.b, a.leave, a.root, a.name = b, leave, b.Root(), a.cfg.Name(b.Root())
	a.own, a.all, a.lines, a.mails, a.known = nil, nil, nil, nil, newMails()
	a.steps = map[mail.Fingerprint][]step{}
	a.found, a.flow, a.waits, a.picked = nil, pane{}, pane{}, ""
	a.around.Remote, a.around.Rooms = nil, nil
	a.order(nil)
	a.background(func() func() {
		err := a.follow(ctx, b, root)
		return func() { a.failed = err }
	})
	a.look()
}

// look reads what stands around the sessions.
func (a *app) look() {
	ctx, b := a.ctx, a.b
	a.background(func() func() {
		around, err := a.cfg.Look(ctx, b)
		return func() {
			if a.b != b {
				return
			}
			if err != nil {
				a.says = err.Error()
			}
			a.around = around
			a.order(a.own)
		}
	})
	a.readWaits()
}

// follow follows the root of b until ctx ends. If the root is removed and made again, it starts
// again.
func (a *app) follow(ctx context.Context, b *broker.Broker, root string) error {
	err := live.New(b, backlog).Run(ctx, func(u live.Update) error {
		a.then(func() {
			if ctx.Err() == nil {
				a.update(u)
			}
		})
		return nil
	})
	if !errors.Is(err, live.ErrReplaced) {
		return err
	}
	return a.goTo(ctx, root, "the root was removed or made again")
}

// goTo opens a root and shows it in place of the present one.
func (a *app) goTo(ctx context.Context, root, says string) error {
	b, err := a.cfg.Open(ctx, root)
	if err != nil {
		return err
	}
	a.then(func() {
		a.leave()
		a.b.Close()
		a.begin(b, root)
		a.says = says
	})
	return nil
}

// update applies an update of the root.
func (a *app) update(u live.Update) {
	first := a.own == nil
	if u.Sessions != nil {
		a.order(u.Sessions)
	}
	for _, e := range u.Events {
		a.step(a.known.Add([]live.Event{e}))
		switch e.What {
		case live.Stored, live.Posted:
			a.stored(e)
		case live.Damaged:
			if a.says = e.Why; e.SessionID != "" {
				a.says = "the mailbox of " + e.Alias + " is damaged: " + e.Why
			}
		}
	}
	if first { // what was rung before waits for its reader, too
		for _, s := range u.Sessions {
			if r := s.LastRing; r.Outcome == wake.Rang {
				a.step(a.known.Add([]live.Event{{What: live.Rung, At: r.At, SessionID: s.ID, Ring: r}}))
			}
		}
	}
	for _, m := range a.mails[:max(0, len(a.mails)-maxMails)] {
		delete(a.steps, m.fate.Key)
	}
	a.mails = a.mails[max(0, len(a.mails)-maxMails):]
	if a.view == waiting {
		a.readWaits()
	}
}

// stored adds a new message. The flow keeps only the first part of a long body, because it has many
// messages.
func (a *app) stored(e live.Event) {
	known := a.known.Known(e.Fingerprint)
	if known == nil {
		return // so many messages came at once that the flow has dropped this message
	}
	if t := a.found; t != nil && t.thread && e.Message.InReplyTo != "" && slices.ContainsFunc(t.mails, func(o *mailView) bool { return o.ID == e.Message.InReplyTo }) {
		t.mails = append(t.mails, &mailView{Message: e.Message, fate: known})
	}
	a.mails = append(a.mails, &mailView{Message: known.Message, fate: known})
}

// pane returns the list of messages that is in front.
func (a *app) pane() *pane {
	if a.found != nil {
		return a.found
	}
	if a.view == waiting {
		return &a.waits
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

// message returns the selected message; the newest if none is selected; nil if there are no
// messages.
func (p *pane) message() *mailView {
	if p.selected == nil && len(p.mails) > 0 {
		return p.mails[len(p.mails)-1]
	}
	return p.selected
}
