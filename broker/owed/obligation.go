package owed

import (
	"cmp"
	"context"
	"errors"
	"time"

	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
	"c2c/sessions"
	"c2c/wake"
)

// States of an obligation, which is an answer that a session owes. Three states have other names:
// Refused (here: the session has answered with reply --fail that it cannot do it), Expired (the
// message expired unread) and sessions.Dead (the message is a dead letter).
const (
	StillOpen  = "open"
	Overdue    = "overdue"
	Answered   = "answered"
	WasSwept   = "swept"       // the session that owed the answer is gone
	HandedOver = "handed-over" // another session has taken over the work
	GivenUp    = "given-up"    // the answer has been overdue for too long
)

// Wakes counts the rings for a message.
type Wakes struct {
	Count  int       `json:"count"`            // attempts, also those that were filtered or coalesced
	RangAt time.Time `json:"rang_at,omitzero"` // time of the first attempt that rang
	First  time.Time `json:"first,omitzero"`
	Last   time.Time `json:"last,omitzero"`
	Path   string    `json:"path,omitempty"`   // the last method that was tried, see package wake
	Result string    `json:"result,omitempty"` // the outcome of the last attempt
}

// SurfaceOf returns sessions.SurfaceFull if mail wakes a session, and SurfaceDegraded if not, or if
// c2c does not know.
func SurfaceOf(reg *sessions.Registry, s sessions.Session) string {
	support, _ := reg.Prober().Surface(s)
	return cmp.Or(support, sessions.SurfaceDegraded)
}

// SessionKey identifies an obligation in a root.
type SessionKey struct {
	SID string
	Key
}

// Found returns the messages of a mailbox that have these ids, read ones included.
func Found(ctx context.Context, reg *sessions.Registry, sid string, ids map[string]bool) map[Key]inbox.Found {
	all := map[Key]inbox.Found{}
	found, err := reg.SearchOne(ctx, sid, sessions.WithIDs(ids))
	if err != nil && !errors.Is(err, context.Canceled) {
		reg.Log.Warn("states of messages could not be read", "session", sid, "err", err)
	}
	for _, f := range found {
		all[KeyOf(f.Message)] = f
	}
	return all
}

// Observed returns when messages of a mailbox were handed over. For an outbox it returns nothing: a
// message leaves an outbox when another machine has stored it, not when it is handed over.
func Observed(ctx context.Context, reg *sessions.Registry, sid string, ids map[string]bool) map[Key]time.Time {
	at := map[Key]time.Time{}
	if sessions.IsHostID(sid) {
		return at
	}
	for key, f := range Found(ctx, reg, sid, ids) {
		if f.Where == inbox.Archived {
			at[key] = f.At.UTC()
		}
	}
	return at
}

// A ring may come before the record of its message, because the sender writes the record after the
// message. ringFirst bounds the time in between.
const ringFirst = 10 * time.Second

// rangTime is how long the record of a ring may wait for a lock.
const rangTime = 10 * time.Second

// Rang records a ring of a session for waiting messages: in the session's facts and the log, and in
// the obligations, see CountRing. It also works after ctx has ended, because the client has the
// ring.
func Rang(ctx context.Context, reg *sessions.Registry, sid string, waiting []mail.Message, r wake.Ring) error {
	ctx, end := context.WithTimeout(context.WithoutCancel(ctx), rangTime)
	defer end()
	return errors.Join(reg.Rang(ctx, sid, r), CountRing(ctx, reg, sid, waiting, r))
}

// CountRing counts a ring in the obligation of each waiting message that asks for an answer. If no
// message asks, it costs nothing.
func CountRing(ctx context.Context, reg *sessions.Registry, sid string, waiting []mail.Message, r wake.Ring) error {
	owes := map[Key]mail.Message{}
	for _, m := range waiting {
		if m.Owes() {
			owes[KeyOf(m)] = m
		}
	}
	if len(owes) == 0 || !mail.ValidName(sid) {
		return nil
	}
	err := withRecords(reg, sid, func(dir *atomicfile.Dir) error {
		return ChangeRecords(ctx, reg, dir, sid, func(d *Record) (changed, drop bool) {
			if _, rung := owes[d.Key()]; !rung {
				return false, false
			}
			delete(owes, d.Key())
			d.Wakes.Add(r)
			return true, false
		})
	})
	if err != nil {
		return err
	}
	var records []Record
	for _, m := range owes {
		if reg.Now().Sub(m.Time()) < ringFirst {
			d := NewRecord(m)
			d.Wakes.Add(r)
			records = append(records, d)
		}
	}
	return AddRecords(ctx, reg, sid, false, records...)
}

func (w *Wakes) Add(r wake.Ring) {
	at := r.At.UTC()
	w.Count++
	w.Last, w.Result = at, r.Outcome
	if w.First.IsZero() {
		w.First = at
	}
	if r.Method != "" {
		w.Path = r.Method
	}
	if r.Outcome == wake.Rang && w.RangAt.IsZero() {
		w.RangAt = at
	}
}

// merge adds the rings that another line about the same message has counted, see Read.
func (w *Wakes) merge(o Wakes) {
	first, last := *w, o
	if o.Last.Before(w.Last) {
		first, last = o, *w
	}
	*w = Wakes{
		Count: w.Count + o.Count, RangAt: sessions.Earlier(w.RangAt, o.RangAt), First: sessions.Earlier(w.First, o.First),
		Last: last.Last, Path: cmp.Or(last.Path, first.Path), Result: last.Result,
	}
}
