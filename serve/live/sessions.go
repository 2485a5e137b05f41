package live

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"sort"
	"time"

	"c2c/broker/owed"
	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/sessions"
	"c2c/wake"
)

// list reads all sessions again. It reports the sessions that came, went, were rung or have
// changed.
func (v *View) list(ctx context.Context) error {
	began := time.Now()
	rows, err := v.b.List(ctx)
	if err != nil {
		return err
	}
	before := map[string]Session{}
	for _, s := range v.sessions {
		before[s.ID] = s
	}
	v.stale, v.sessions = false, nil
	v.nextList = time.Now().Add(max(listGap, listShare*time.Since(began)))
	for _, row := range rows {
		old, known := before[row.ID]
		delete(before, row.ID)
		v.sessions = append(v.sessions, Session{row, old.Handed})
		if row.Now.Dir != "" {
			v.files.Watch(row.Now.Dir) // if this fails, the list is up to a minute late
		}
		if !v.begun {
			continue
		}
		if what := change(old.Listed, row, known); what != "" {
			v.event(Event{What: what, At: time.Now(), SessionID: row.ID, Alias: row.Alias, Why: string(row.Now.Does)})
		}
		if !reflect.DeepEqual(row.LastRing, old.LastRing) {
			v.ring(row)
		}
	}
	for _, gone := range before {
		v.event(Event{What: Went, At: time.Now(), SessionID: gone.ID, Alias: gone.Alias})
	}
	return nil
}

// change returns the event for a change in a session, or "" if nothing has changed.
func change(old, now sessions.Listed, known bool) string {
	for _, l := range []*sessions.Listed{&old, &now} { // compare the sessions without their mail, whose changes have their own events
		l.Waiting, l.Count, l.Oldest, l.LastRead, l.LastRing = false, 0, time.Time{}, time.Time{}, wake.Ring{}
	}
	switch {
	case !known, old.State == sessions.Absent && now.State != sessions.Absent:
		return Came
	case old.State != sessions.Absent && now.State == sessions.Absent:
		return Went
	case !reflect.DeepEqual(old, now):
		return Changed
	}
	return ""
}

func (v *View) ring(row sessions.Listed) {
	e := Event{What: NotRung, At: row.LastRing.At, SessionID: row.ID, Alias: row.Alias, Ring: row.LastRing, Why: row.LastRing.Cause}
	switch row.LastRing.Outcome {
	case wake.Rang:
		e.What = Rung
	case wake.Coalesced, wake.Filtered, "": // there was no ring
		return
	}
	v.event(e)
}

// count sets the number of messages of each session.
func (v *View) count() {
	for i := range v.sessions {
		if box := v.boxes[v.sessions[i].ID]; box != nil {
			s := &v.sessions[i]
			s.Count, s.Handed, s.Oldest = box.Counts()
			s.Waiting = s.Waiting || s.Count > 0
		}
	}
}

// deadLetters reports new dead letters.
func (v *View) deadLetters() error {
	all, err := owed.DeadLetters(v.b.Registry)
	if err != nil {
		return err
	}
	before := v.dead
	v.dead = make(map[mail.Fingerprint]bool, len(all))
	for _, d := range all {
		t := d.Message.Fingerprint()
		if v.dead[t] = true; before[t] || !v.begun {
			continue
		}
		v.event(Event{What: Dead, At: mail.FromSeconds(d.DeletedAt), SessionID: d.SessionID,
			Alias:       cmp.Or(v.alias(d.SessionID), d.Message.To), // the session's row in the registry may be gone
			Fingerprint: t, Message: d.Message, Why: d.Reason})
	}
	return nil
}

// addBacklog adds to the pending events the messages that were read already, and then keeps only the
// events of the newest messages.
func (v *View) addBacklog(ctx context.Context) error {
	events := map[mail.Fingerprint][]Event{}
	var found, kept []Event // found: the Stored events; kept: the events of no message, and in the end all events to report
	add := func(e Event) {
		if e.What == Stored && events[e.Fingerprint] == nil {
			found = append(found, e)
		}
		events[e.Fingerprint] = append(events[e.Fingerprint], e)
	}
	for _, p := range v.pending {
		if p.Fingerprint == (mail.Fingerprint{}) {
			kept = append(kept, p.Event)
		} else {
			add(p.Event)
		}
	}
	if v.backlog > 0 {
		if err := v.history(ctx, func(sid string, r inbox.ArchiveRecord) {
			e := Event{What: Stored, At: r.Time(), SessionID: sid, Before: true, Fingerprint: r.Fingerprint(), Message: r.Message}
			if events[e.Fingerprint] != nil {
				return // the message is reported already. Two messages without an id may have the same fingerprint
			}
			add(e)
			e.By = r.DrainedBy
			add(v.archived(e, r.Found()))
		}); err != nil {
			return err
		}
	}
	sort.SliceStable(found, func(i, j int) bool { return found[i].Message.TS < found[j].Message.TS })
	found = found[max(0, len(found)-v.backlog):]
	v.pending = nil
	for _, e := range found {
		kept = append(kept, events[e.Fingerprint]...)
	}
	for _, e := range kept {
		v.event(e)
	}
	return nil
}

// history calls the function f with the newest messages that were read. It begins with the mailbox
// that has changed last, and stops when the remaining mailboxes cannot have newer messages.
func (v *View) history(ctx context.Context, f func(sid string, r inbox.ArchiveRecord)) error {
	type used struct {
		sid  string
		last time.Time
	}
	var boxes []used
	for sid := range v.boxes {
		if m, err := v.b.Mailbox(sid); err == nil {
			if last, err := m.Changed(); err == nil {
				boxes = append(boxes, used{sid, last})
			}
		}
	}
	sort.Slice(boxes, func(i, j int) bool {
		return cmp.Or(boxes[j].last.Compare(boxes[i].last), cmp.Compare(boxes[i].sid, boxes[j].sid)) < 0
	})
	var newest []float64 // the times at which the newest messages were read
	for _, box := range boxes {
		if len(newest) == v.backlog && mail.Seconds(box.last) < newest[0] {
			break
		}
		m, err := v.b.Mailbox(box.sid)
		if err != nil {
			return err
		}
		records, err := m.Archive().History(ctx, v.backlog)
		if ctx.Err() != nil {
			return err
		}
		if err != nil {
			v.event(Event{What: Damaged, SessionID: box.sid, At: time.Now(), Why: err.Error()})
		}
		for _, r := range records {
			f(box.sid, r)
			newest = append(newest, r.DrainedAt)
		}
		slices.Sort(newest)
		newest = newest[max(0, len(newest)-v.backlog):]
	}
	return nil
}
