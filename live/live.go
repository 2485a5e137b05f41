// Package live reports the changes in a root, the directory with the mail of one project, as events. The events are about sessions, their
// waiting mail, and the states of each message. A View follows a root for one caller; a Hub shares one View among many.
//
// A View only reads files. It sleeps until the kernel reports a change; if the system has no file watch left, it polls once a second. A
// View takes no lock and writes nothing, so it neither hands a message over nor marks a message as read.
//
// Each message is reported once as Stored, and the messages of a sender are reported in the order of sending. This is so even for a message
// that was read before the View saw it, except for an ephemeral message: no file has that message any more, so it is not reported.
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

// ErrReplaced means that the root was removed or replaced. The caller must make a new View.
var ErrReplaced = errors.New("the root was removed or replaced")

// Kinds of events.
const (
	Stored  = "stored"  // a message is on the disk
	Handed  = "handed"  // a reader has leased the message
	Back    = "back"    // the reader has released the message, or has ended: the message waits again
	Read    = "read"    // the message was handed over
	Answers = "answers" // the model of a session has answered
	Dead    = "dead"    // the message is a dead letter now
	Drained = "drained" // a mailbox has no waiting mail any more
	Rung    = "rung"    // a session was woken
	NotRung = "unrung"  // a try to wake a session has failed; see Event.Ring
	Came    = "came"    // a session is registered, or its client is back
	Went    = "went"    // a session is not registered any more, or its client has ended
	Changed = "changed" // another fact about a session has changed; see Update.Sessions
	Removed = "removed" // a mailbox was removed
	Posted  = "posted"  // a post came to a room; Message.To is # and the name of the room
	Damaged = "damaged" // a file, or a part of a file, cannot be read; see Event.Why
)

// Event is one change in a root.
type Event struct {
	What      string
	At        time.Time
	SessionID string // the owner of the mailbox, or the session that the event is about
	Alias     string // the alias of SessionID
	Before    bool   // the change happened before the View began

	Fingerprint mail.Fingerprint // identifies the message
	Message     mail.Message     // the content is set only in Stored, Read and Dead
	By          string           // the reader of the message, such as poll_inbox
	Awaits      bool             // in a Read event: the model has not answered yet; an Answers event will follow
	Answered    time.Time        // in a Read event: the newest answer of the model since At
	Ring        wake.Ring
	Why         string
}

// Session is a session with facts about its mail. Its Count and LastRead are as recent as the events.
type Session struct {
	sessions.Listed
	Handed int // messages that readers have leased
}

// Update holds the changes that View has found at one time.
type Update struct {
	Events   []Event
	Sessions []Session // all sessions, in the order of the registry; nil: none has changed
}

// Config has the settings of a View.
type Config struct {
	Broker *broker.Broker
	// Backlog is the number of earlier messages that the first update has. They are the newest ones.
	Backlog int
	Now     func() time.Time // nil: time.Now
}

// listGap is the shortest pause between two lists of the sessions. To make a list, c2c reads the files of all sessions. Therefore the pause
// is also at least listShare times as long as it took to make the last list.
const (
	listGap   = 200 * time.Millisecond
	listShare = 10
)

// maxDone bounds the number of fingerprints in View.done.
const maxDone = 8192

// View follows the changes in a root. Only one goroutine may use it.
type View struct {
	cfg   Config
	b     *broker.Broker
	files *watch.Files

	boxes    map[string]*inbox.Observer // by session id
	rooms    map[string]int64           // by room name: the place up to which the room's history was read
	awaits   map[string]awaited         // by session id: the sessions whose model still has to answer mail
	sessions []Session
	nextList time.Time // earliest time of the next list of sessions
	stale    bool      // the list of sessions is out of date
	soon     bool      // look again within a second: a directory was removed, perhaps the root is next, and no event reports that
	dead     map[mail.Fingerprint]bool
	begun    bool // the first look is over

	done    map[mail.Fingerprint]bool // the messages that left a mailbox last, at most maxDone
	order   []mail.Fingerprint        // the keys of done, oldest first
	pending []pending
}

// pending is an event that still has to be reported.
type pending struct {
	Event
	held bool // the previous look held the event back
}

// New makes a View. Its first update has the present state and the backlog.
func New(cfg Config) *View {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &View{cfg: cfg, b: cfg.Broker, boxes: map[string]*inbox.Observer{}, rooms: map[string]int64{}, awaits: map[string]awaited{}, dead: map[mail.Fingerprint]bool{}, done: map[mail.Fingerprint]bool{}}
}

// Run reports the present state at once, and then the changes, until ctx ends or the function report returns an error.
func (v *View) Run(ctx context.Context, report func(Update) error) error {
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
			if err := report(update); err != nil {
				return err
			}
		}
		if all, err = v.wait(ctx); err != nil || ctx.Err() != nil {
			return err
		}
	}
}

// wait returns when there may be a change. The result all means that look must read all files.
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

// look finds the changes since the previous look. If all is set, it reads all files.
func (v *View) look(ctx context.Context, all bool) (u Update, err error) {
	began := v.cfg.Now()
	changed, lost := v.files.Take()
	all = all || lost
	for _, dir := range []string{"archive", "sessions"} { // these directories may not have existed at the previous look
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
	// List the sessions first, because the events of a mailbox contain the alias of its session.
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

// sort finds what the method look must read again after programs have closed the files in the argument changed: the mailboxes of the
// sessions in boxes, the last answers of the sessions in answers, the list of sessions (list), and the dead letters (dead).
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
		case !strings.HasPrefix(dir, v.b.Root()+"/"): // a client's file: list later, because the client may still have to rename the file into place
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

// awaited has two times of a session: when the latest mail that the model must still answer was handed over (handed), and when the model
// gave the latest answer that this View has reported (told).
type awaited struct{ handed, told time.Time }

// answers reports which of the given sessions have a model that has answered since the last report.
func (v *View) answers(sids []string) {
	for _, sid := range sids {
		is, awaits := v.awaits[sid]
		if !awaits {
			continue
		}
		last, told := turns.LastAnswer(v.b.Registry, sid)
		if !told { // nothing reports the answers of this session, so count the mail as answered
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

// read turns e into a Read event of a message that was handed over at the given time.
func (v *View) read(e Event, at time.Time) Event {
	e.What, e.At = Read, at
	if e.Answered, e.Awaits = turns.AnswerTo(v.b.Registry, e.SessionID, e.By, at); e.Awaits {
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

// cut removes from name the first of the suffixes with which it ends. If it ends with none of them, ok is false.
func cut(name string, suffixes ...string) (stem string, ok bool) {
	for _, suffix := range suffixes {
		if stem, ok = strings.CutSuffix(name, suffix); ok {
			return stem, true
		}
	}
	return "", false
}

// mailboxes lists the mailboxes that have files. It forgets all other mailboxes, and reports them as removed.
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

// lookInto reads the changes in a mailbox. If it cannot read the mailbox, it reports a Damaged event.
func (v *View) lookInto(sid string) {
	box, known := v.boxes[sid]
	if !known {
		m, err := v.b.Mailbox(sid)
		if err != nil {
			return // sid is not a valid session id
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
		v.stale = true // the list also shows whether old mail must still be moved into this mailbox
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
			stored.At = v.cfg.Now() // the tools of the OCaml c2c store messages without a time
		}
		v.event(stored)
	}
	if sessions.IsHostID(sid) { // an outbox of the relay: report no reader, because the relay reads it, and the receiver is on another machine
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
	case inbox.Gone: // the message was moved or swept: the other mailbox or the dead letters report it
		v.markDone(s.Fingerprint)
		if e.What, e.At = Read, v.cfg.Now(); !s.Message.Ephemeral || moved {
			return
		}
	}
	v.event(e)
}

// isElsewhere reports whether the message was reported before, in another mailbox. It returns false for a message without an id, which
// may therefore be reported twice.
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

// markDone records a message that has left a mailbox, so that it is not reported again. v.done keeps only the last maxDone messages.
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

// due returns the events to report now. If a message was sent after the look began, its events wait for the next look, which begins at
// once: an earlier message of the same sender may have come to another mailbox after look had read that mailbox.
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

// inOrder moves the Stored events to the front, in the order of sending, and keeps the order of the rest.
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
