// Package live shows a root as it changes: its sessions, their waiting mail, and what becomes of each message.
//
// It reads files only, with one kernel watch, and sleeps while nothing changes. It takes no lock and writes nothing, so watching
// neither hands a message over nor marks it as read. If the system has no watch left, it polls once a second.
//
// Each message appears once as Stored, in the order in which its sender sent it, even if it was read before this package could
// look. The exception is an ephemeral message that was read that fast: then no file has it.
package live

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"sort"
	"strings"
	"time"

	"c2c/broker"
	"c2c/broker/notice"
	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/sessions"
	"c2c/sessions/registry"
	"c2c/sessions/turns"
	"c2c/wake"
	"c2c/wake/watch"
)

// ErrReplaced: the root was removed or replaced. Make a new View.
var ErrReplaced = errors.New("the root was made anew")

// Kinds of events.
const (
	Stored  = "stored"  // a message is on the disk
	Handed  = "handed"  // a reader has leased it
	Back    = "back"    // its reader released it, or has ended: it waits again
	Read    = "read"    // it was handed over
	Answers = "answers" // the model of a session has answered
	Dead    = "dead"    // it is a dead letter now
	Drained = "drained" // no mail waits in a mailbox any more
	Rung    = "rung"    // a session was woken
	NotRung = "unrung"  // a session was not woken; see Ring
	Came    = "came"    // a session is registered, or its client is back
	Went    = "went"    // a session is not registered any more, or its client has ended
	Changed = "changed" // something else about a session has changed, see Session
	Removed = "removed" // a mailbox was removed
	Posted  = "posted"  // a post came to a room: Message goes to #name
	Damaged = "damaged" // a file is unreadable, or a part of it; see Why
)

// Event is one event.
type Event struct {
	What      string
	At        time.Time
	SessionID string // the owner of the mailbox, or the session that came, went, was rung
	Alias     string // of that session
	Before    bool   // it happened before the view began

	Fingerprint mail.Fingerprint // identifies the message
	Message     mail.Message     // has its content if Stored, Read or Dead
	By          string           // the reader
	Awaits      bool             // for Read: the model has not answered since; an Answers event will follow
	Ring        wake.Ring
	Why         string
}

// Session is one session. Count and LastRead are as new as the events.
type Session struct {
	sessions.Listed
	Handed int // messages that readers have leased
}

// Update is one step of changes.
type Update struct {
	Events   []Event
	Sessions []Session // all of them, in the order of the registry; nil: no change
}

// Config is what the caller of New passes in.
type Config struct {
	Broker *broker.Broker
	// Backlog is how many of the newest earlier messages are reported first.
	Backlog int
	Now     func() time.Time // nil: time.Now
}

// The list of sessions may be out of date for listGap, or listShare times as long as it takes to make, because that reads the files
// of all.
const (
	listGap   = 200 * time.Millisecond
	listShare = 10
)

// maxDone bounds how many messages that have left the mailboxes are remembered.
const maxDone = 8192

// View follows a root. One goroutine uses it.
type View struct {
	cfg   Config
	b     *broker.Broker
	files *watch.Files

	boxes    map[string]*inbox.Observer
	rooms    map[string]int64   // how far the history of each room was read
	awaits   map[string]awaited // by session
	sessions []Session
	nextList time.Time // earliest time of the next list
	stale    bool      // the list is out of date
	soon     bool      // a directory was removed; the root may be next, and while we have the root open no event reports its removal
	dead     map[mail.Fingerprint]bool
	begun    bool

	done    map[mail.Fingerprint]bool // the latest messages that left a mailbox
	order   []mail.Fingerprint        // the order of done
	pending []pending
}

// pending is an event that was not reported yet.
type pending struct {
	Event
	held bool // the previous look held it back
}

// New makes a view of a root from now on.
func New(cfg Config) *View {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &View{cfg: cfg, b: cfg.Broker, boxes: map[string]*inbox.Observer{}, rooms: map[string]int64{}, awaits: map[string]awaited{}, dead: map[mail.Fingerprint]bool{}, done: map[mail.Fingerprint]bool{}}
}

// Run reports the present state and then the changes, until ctx ends or tell fails. It calls tell at once with the first update.
func (v *View) Run(ctx context.Context, tell func(Update) error) error {
	v.files = watch.NewFiles()
	defer v.files.Close()
	if err := v.files.Watch(v.b.Root()); err != nil {
		v.files.Poll()
	}
	for all := true; ; {
		update, err := v.look(ctx, all)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		if len(update.Events) > 0 || update.Sessions != nil {
			if err := tell(update); err != nil {
				return err
			}
		}
		if all, err = v.wait(ctx); err != nil || ctx.Err() != nil {
			return err
		}
	}
}

// wait returns when there may be a change. all means that it is time to look at everything.
func (v *View) wait(ctx context.Context) (all bool, err error) {
	if len(v.pending) > 0 {
		return false, nil
	}
	every := v.files.Every()
	if v.soon {
		every = min(every, time.Second)
	}
	timer := time.NewTimer(every)
	defer timer.Stop()
	var list <-chan time.Time
	if v.stale {
		list = time.After(time.Until(v.nextList))
	}
	select {
	case <-ctx.Done():
		return false, nil
	case <-v.files.Told():
	case <-list:
	case <-timer.C:
		all = true
	}
	if v.b.Replaced() {
		err = ErrReplaced
	}
	return all, err
}

// look finds the changes since the previous look.
func (v *View) look(ctx context.Context, all bool) (u Update, err error) {
	began := v.cfg.Now()
	changed, lost := v.files.Take()
	all = all || lost
	for _, dir := range []string{"archive", "sessions"} { // they may not exist yet
		v.watch(dir)
	}
	posts, newRooms := v.changedRooms(changed)
	boxes, answers, list, dead := v.sort(changed)
	if all {
		if boxes, err = v.mailboxes(); err != nil {
			return u, err
		}
		list, dead, v.soon = true, true, false
		answers = slices.Collect(maps.Keys(v.awaits))
	}
	// The list goes first: events of a mailbox have its alias.
	v.stale = v.stale || list
	before := slices.Clone(v.sessions)
	if v.stale && (!v.begun || all || !time.Now().Before(v.nextList)) {
		if err := v.list(ctx); err != nil {
			return u, err
		}
	}
	for _, sid := range slices.Sorted(maps.Keys(boxes)) {
		v.lookInto(sid)
	}
	v.posts(posts, all || newRooms)
	v.answers(answers)
	v.count()
	if dead {
		if err := v.deadLetters(ctx); err != nil {
			return u, err
		}
	}
	if !v.begun {
		if err := v.backlog(ctx); err != nil {
			return u, err
		}
	}
	if !v.begun || !reflect.DeepEqual(before, v.sessions) {
		u.Sessions = append([]Session{}, v.sessions...)
	}
	u.Events = v.due(began)
	v.begun = true
	return u, nil
}

func (v *View) watch(dir string) {
	path := filepath.Join(v.b.Root(), dir)
	if d, err := v.b.Dir().Sub(dir, false); err == nil {
		d.Close()
		if v.files.Watch(path) != nil {
			v.files.Poll()
		}
	}
}

// sort groups the closed files by what they belong to.
func (v *View) sort(changed map[string]bool) (boxes map[string]bool, answers []string, list, dead bool) {
	boxes = map[string]bool{}
	for path := range changed {
		dir, name := filepath.Dir(path), filepath.Base(path)
		switch {
		case dir == v.b.Root() && name == notice.DeadLetterLock:
			dead = true
		case dir == v.b.Root() && name != registry.LockName:
			if sid, ok := cut(name, ".inbox.lock", ".inbox.json"); ok {
				boxes[sid] = true
			} else if sid, ok := cut(name, turns.AnswersEnd); ok {
				answers = append(answers, sid)
			} else if _, ok := cut(name, ".server.lock", ".wake.lock"); ok {
				list = true
			} else if _, ok := cut(name, "sessions", "archive", ".lease"); ok {
				v.soon = true
			}
		case dir == v.b.Root(), dir == filepath.Join(v.b.Root(), "sessions"):
			list = true
		case !strings.HasPrefix(dir, v.b.Root()+"/"): // a client's file, which the client may not have renamed into place yet
			list, v.nextList = true, later(v.nextList, time.Now().Add(listGap))
		case filepath.Base(dir) == "archive":
			if sid, ok := cut(name, ".lock", ".jsonl"); ok {
				boxes[sid] = true
			}
		default:
			if sid, ok := cut(filepath.Base(dir), ".lease"); ok {
				boxes[sid] = true
			}
		}
	}
	return boxes, answers, list, dead
}

// awaited has the time of the latest mail that a session's model must still answer, and the latest answer that was reported.
type awaited struct{ handed, told time.Time }

// answers reports sessions whose model has answered their mail.
func (v *View) answers(sids []string) {
	for _, sid := range sids {
		is, awaits := v.awaits[sid]
		if !awaits {
			continue
		}
		last, told := turns.LastAnswer(v.b.Registry, sid)
		if !told { // no later event will report it
			last = v.cfg.Now()
		}
		if last.After(is.told) {
			v.event(Event{What: Answers, SessionID: sid, At: last})
			v.awaits[sid] = awaited{is.handed, last}
		}
		if last.After(is.handed) {
			delete(v.awaits, sid)
		}
	}
}

// read turns e into the event that a message was handed over at that time.
func (v *View) read(e Event, at time.Time) Event {
	e.What, e.At = Read, at
	if e.Awaits = turns.Unanswered(v.b.Registry, e.SessionID, e.By, at); e.Awaits {
		is := v.awaits[e.SessionID]
		v.awaits[e.SessionID] = awaited{later(is.handed, at), is.told}
	}
	return e
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// cut removes one of the suffixes.
func cut(name string, suffixes ...string) (stem string, ok bool) {
	for _, suffix := range suffixes {
		if stem, ok = strings.CutSuffix(name, suffix); ok {
			return stem, true
		}
	}
	return "", false
}

// mailboxes lists the mailboxes that have files, and forgets the others.
func (v *View) mailboxes() (map[string]bool, error) {
	there, err := inbox.Sessions(v.b.Dir())
	if err != nil {
		return nil, err
	}
	for sid := range v.boxes {
		if !there[sid] {
			delete(v.boxes, sid)
			v.event(Event{What: Removed, SessionID: sid, At: v.cfg.Now()})
		}
	}
	return there, nil
}

// lookInto reads the changes in a mailbox. It reports one that it cannot read, and the caller goes on with the others.
func (v *View) lookInto(sid string) {
	box, known := v.boxes[sid]
	if !known {
		m, err := v.b.Mailbox(sid)
		if err != nil {
			return // it is not a valid session id
		}
		box = m.Observe(v.begun)
		v.boxes[sid] = box
	}
	v.watch(sid + ".lease")
	queued, handed, _ := box.Counts()
	steps, err := box.Look()
	if err != nil {
		v.event(Event{What: Damaged, SessionID: sid, At: v.cfg.Now(), Why: err.Error()})
		return
	}
	for _, step := range steps {
		v.step(sid, step)
	}
	if now, inHand, _ := box.Counts(); queued+handed > 0 && now+inHand == 0 {
		v.event(Event{What: Drained, SessionID: sid, At: v.cfg.Now()})
		v.stale = true // the list shows whether mail must still be moved there
	}
}

// step makes events from a change in the state of a message.
func (v *View) step(sid string, s inbox.Step) {
	e := Event{At: s.At, SessionID: sid, Fingerprint: s.Fingerprint, Message: s.Message, By: s.By, Why: s.Why, Before: !v.begun}
	if s.What == inbox.Damaged {
		e.What, e.At = Damaged, v.cfg.Now()
		v.event(e)
		return
	}
	moved := v.isElsewhere(sid, s)
	if s.First && !moved {
		stored := e
		stored.What, stored.By, stored.At = Stored, "", s.Message.Time()
		if s.Message.TS == 0 {
			stored.At = v.cfg.Now() // the original's tools write no time
		}
		v.event(stored)
	}
	if sessions.IsHostID(sid) { // what the relay does with an outbox tells nothing about the receiver, which is on another machine
		if s.What == inbox.Read || s.What == inbox.Gone {
			v.markDone(s.Fingerprint)
		}
		return
	}
	switch s.What {
	case inbox.Read:
		e = v.read(e, s.At)
		if i := v.find(sid); i >= 0 && v.begun {
			v.sessions[i].LastRead = s.At.UTC()
		}
		v.markDone(s.Fingerprint)
	case inbox.Handed:
		e.What = Handed
	case inbox.Queued:
		if e.What = Back; s.First {
			return
		}
		e.At = v.cfg.Now()
	case inbox.Gone: // moved or swept: the other mailbox or the dead letters report it
		v.markDone(s.Fingerprint)
		if e.What, e.At = Read, v.cfg.Now(); !s.Message.Ephemeral || moved {
			return
		}
	}
	v.event(e)
}

// isElsewhere reports whether the message was reported before, from another mailbox. A message without an id may be reported twice.
func (v *View) isElsewhere(sid string, s inbox.Step) bool {
	if s.Message.IsUnnamed() {
		return false
	}
	if v.done[s.Fingerprint] && s.What != inbox.Gone {
		return true
	}
	for other, box := range v.boxes {
		if other != sid && box.Has(s.Fingerprint) {
			return true
		}
	}
	return false
}

// markDone records a message that has left the mailboxes. For a while v.done has the message, so that it is not reported again.
func (v *View) markDone(t mail.Fingerprint) {
	if v.done[t] {
		return
	}
	v.done[t] = true
	if v.order = append(v.order, t); len(v.order) > maxDone {
		delete(v.done, v.order[0])
		v.order = v.order[1:]
	}
}

func (v *View) event(e Event) { v.pending = append(v.pending, pending{Event: e}) }

// due returns the events to report now. A message that was sent since the look began waits for the next look, which begins at once:
// an earlier message from its sender may have come to a mailbox after we looked there.
func (v *View) due(began time.Time) (due []Event) {
	var later []pending
	held := map[mail.Fingerprint]bool{}
	for _, p := range v.pending {
		if held[p.Fingerprint] || p.What == Stored && !p.held && p.Message.Time().After(began) {
			held[p.Fingerprint] = p.Fingerprint != mail.Fingerprint{}
			later = append(later, pending{p.Event, true})
			continue
		}
		due = append(due, p.Event)
	}
	v.pending = later
	for i := range due {
		if due[i].Alias == "" {
			due[i].Alias = v.alias(due[i].SessionID)
		}
	}
	inOrder(due)
	return due
}

// inOrder puts the messages first, in the order of sending, and keeps the order of the rest.
func inOrder(events []Event) {
	var messages []Event
	for _, e := range events {
		if e.What == Stored {
			messages = append(messages, e)
		}
	}
	sort.SliceStable(messages, func(i, j int) bool { return messages[i].Message.TS < messages[j].Message.TS })
	rest := slices.DeleteFunc(slices.Clone(events), func(e Event) bool { return e.What == Stored })
	copy(events, append(messages, rest...))
}

func (v *View) find(sid string) int {
	return slices.IndexFunc(v.sessions, func(s Session) bool { return s.ID == sid })
}

func (v *View) alias(sid string) string {
	if i := v.find(sid); i >= 0 {
		return v.sessions[i].Alias
	}
	return ""
}
