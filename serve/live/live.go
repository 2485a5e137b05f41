// Package live reports the changes in a root, the directory with the mail of one project, as
// events. The events are about sessions, their waiting mail, and the states of each message. A View
// follows a root for one caller; a Hub shares one View among many.
//
// A View only reads files. It sleeps until the kernel reports a change; if the system has no file
// watch left, it polls once a second. A View takes no lock and writes nothing, so it neither hands
// a message over nor marks a message as read.
//
// Each message is reported once as Stored, and the messages of a sender are reported in the order
// of sending. This is so even for a message that was read before the View saw it, except for an
// ephemeral message: no file has that message any more, so it is not reported.
package live

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"c2c/broker"
	"c2c/broker/owed"
	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/sessions"
	"c2c/wake"
	"c2c/wake/watch"
)

// ErrReplaced means that the root was removed or replaced. The caller must make a new View.
var ErrReplaced = errors.New("the root was removed or replaced")

// Kinds of events.
const (
	Stored   = "stored"  // a message is on the disk
	Leased   = "handed"  // a reader has leased the message
	Back     = "back"    // the reader has released the message, or has ended: the message waits again
	Archived = "read"    // the message was handed over
	Answers  = "answers" // the model of a session has answered
	Dead     = "dead"    // the message is a dead letter now
	Rung     = "rung"    // a session was woken
	NotRung  = "unrung"  // a try to wake a session has failed; see Event.Ring
	Came     = "came"    // a session is registered, or its client is back
	Went     = "went"    // a session is not registered any more, or its client has ended
	Changed  = "changed" // another fact about a session has changed; see Update.Sessions
	Posted   = "posted"  // a post came to a room; Message.To is # and the name of the room
	Damaged  = "damaged" // a file, or a part of a file, cannot be read; see Event.Why
)

// Event is one change in a root.
type Event struct {
	What      string
	At        time.Time
	SessionID string // the owner of the mailbox, or the session that the event is about
	Alias     string // the alias of SessionID
	Before    bool   // the change happened before the View began

	Fingerprint mail.Fingerprint // identifies the message
	Message     mail.Message     // the content is set only in Stored, Archived and Dead
	By          string           // the reader of the message, such as poll_inbox
	State       string           // in an Archived event: the state of the message, see package sessions
	Awaits      bool             // in an Archived event: the model has not answered yet; an Answers event will follow
	Answered    time.Time        // in an Archived event: the newest answer of the model since At
	Ring        wake.Ring
	Why         string
}

// Session is a session with facts about its mail. Its Count and LastRead are as recent as the
// events.
type Session struct {
	sessions.Listed
	Handed int // messages that readers have leased
}

// Update holds the changes that View has found at one time.
type Update struct {
	Events   []Event
	Sessions []Session // all sessions, in the order of the registry; nil: none has changed
}

// listGap is the shortest pause between two lists of the sessions. To make a list, c2c reads the
// files of all sessions. Therefore the pause is also at least listShare times as long as it took to
// make the last list.
const (
	listGap   = 200 * time.Millisecond
	listShare = 10
)

// maxDone bounds the number of fingerprints in View.done.
const maxDone = 8192

// View follows the changes in a root. Only one goroutine may use it.
type View struct {
	b       *broker.Broker
	backlog int // see New
	files   *watch.Files

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

// New makes a View. Its first update has the present state, and the newest earlier messages: backlog
// of them.
func New(b *broker.Broker, backlog int) *View {
	return &View{b: b, backlog: backlog, boxes: map[string]*inbox.Observer{}, rooms: map[string]int64{}, awaits: map[string]awaited{}, dead: map[mail.Fingerprint]bool{}, done: map[mail.Fingerprint]bool{}}
}

// Run reports the present state at once, and then the changes, until ctx ends or the function
// report returns an error.
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
	began := time.Now()
	changed, lost := v.files.Take()
	all = all || lost
	for _, dir := range []string{"archive", "sessions"} { // these directories may not have existed at the previous look
		v.watch(dir)
	}
	posts, newRooms := v.changedRooms(changed)
	boxes, answers, list, dead := v.sort(changed)
	// A message may come to one mailbox later than to another, but the order is in the files: look
	// into all mailboxes, unless the events tell all that has happened.
	if all || !v.files.Sure() && (len(boxes) > 0 || len(v.pending) > 0) {
		if boxes, err = v.mailboxes(); err != nil {
			return u, err
		}
	}
	if all {
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
		if err := v.deadLetters(); err != nil {
			return u, err
		}
	}
	if !v.begun {
		if err := v.addBacklog(ctx); err != nil {
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

// sort finds what the method look must read again after programs have closed the files in the
// argument changed: the mailboxes of the sessions in boxes, the last answers of the sessions in
// answers, the list of sessions (list), and the dead letters (dead).
func (v *View) sort(changed map[string]bool) (boxes map[string]bool, answers []string, list, dead bool) {
	boxes = map[string]bool{}
	for path := range changed {
		dir, name := filepath.Dir(path), filepath.Base(path)
		switch {
		case dir == v.b.Root() && name == owed.DeadLetterLock:
			dead = true
		case dir == v.b.Root() && name != sessions.RegistryLock:
			if sid, ok := cut(name, ".inbox.lock", ".inbox.json"); ok {
				boxes[sid] = true
			} else if sid, ok := cut(name, sessions.AnswersEnd); ok {
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

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// cut removes from name the first of the suffixes with which it ends. If it ends with none of them,
// ok is false.
func cut(name string, suffixes ...string) (stem string, ok bool) {
	for _, suffix := range suffixes {
		if stem, ok = strings.CutSuffix(name, suffix); ok {
			return stem, true
		}
	}
	return "", false
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
