package broker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"c2c/inbox"
	"c2c/wake"
)

// ErrNoMessage: no mailbox, archive or dead letter has the id.
var ErrNoMessage = errors.New("no such message")

// Where a message can be. None of them is "delivered": c2c never says more than it knows.
const (
	Queued = "queued" // it waits
	Rung   = "rung"   // it waits, and the session was told so
	Handed = "handed" // a live reader has it and has not acknowledged it
	Read   = "read"   // it was handed over in full
	Dead   = "dead"   // its session was swept
)

// MessageStatus is what the disk proves about a message.
type MessageStatus struct {
	ID        string
	State     string    // Queued, Rung, Handed, Read or Dead
	At        time.Time // when it came into that state
	By        string    // the reader, or the method that rang
	SessionID string    // whose mailbox it is in
	From, To  string
	Queued    time.Time       // when it was sent; zero when the archive is the original's
	LastRing  wake.Ring       // of its session since it was sent, while it waits
	Others    []MessageStatus // further messages with this id: several senders, or several receivers
}

// Status finds a message by its id, or several when senders have chosen that id. ErrNoMessage when nobody knows
// it: an ephemeral message that was read is only known when its sender chose the id.
func (b *Broker) Status(ctx context.Context, id string) (MessageStatus, error) {
	all, err := b.statuses(ctx, id)
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("message %q: %w", id, ErrNoMessage)
	}
	if err != nil {
		return MessageStatus{}, err
	}
	first := all[0]
	first.Others = all[1:]
	return first, nil
}

func (b *Broker) statuses(ctx context.Context, id string) (all []MessageStatus, err error) {
	if err := CheckID(id); err != nil {
		return nil, err
	}
	sids, err := b.mailboxes(ctx)
	if err != nil {
		return nil, err
	}
	var unread []error // mailboxes that cannot be looked into: it may be in one of them
	for _, sid := range sids {
		found, err := b.find(ctx, sid, id)
		if err != nil {
			unread = append(unread, err)
		}
		for _, st := range found {
			all = append(all, b.status(id, sid, st))
		}
		if len(found) == 1 && found[0].Message.FromSession == "" {
			return all, nil // nobody chose this id, so nobody else has it
		}
	}
	dead, err := b.DeadLetters(ctx, 0)
	if err != nil {
		return nil, err
	}
	for _, d := range dead {
		if d.Message.ID == id {
			all = append(all, MessageStatus{ID: id, State: Dead, At: fromSeconds(d.DeletedAt), SessionID: d.SessionID,
				From: d.Message.From, To: d.Message.To, Queued: d.Message.Time()})
		}
	}
	if len(all) == 0 && len(unread) > 0 {
		err = fmt.Errorf("find message %q: %w", id, errors.Join(unread...))
	}
	return all, err
}

func (b *Broker) find(ctx context.Context, sid, id string) ([]inbox.State, error) {
	box, err := b.Mailbox(sid)
	if err != nil {
		return nil, err
	}
	return box.Find(ctx, id)
}

func (b *Broker) status(id, sid string, found inbox.State) MessageStatus {
	m := found.Message
	st := MessageStatus{ID: id, State: found.Where, At: found.At, By: found.By, SessionID: sid, From: m.From, To: m.To}
	if m.TS != 0 {
		st.Queued = m.Time()
	}
	if found.Where != inbox.Queued {
		return st
	}
	f, _, err := b.readFacts(sid)
	if err != nil {
		b.log.Warn("facts of a session are unreadable", "session", sid, "err", err)
	}
	ring := f.LastRing
	if ring == nil || ring.At.Before(m.Time()) {
		return st
	}
	st.LastRing = *ring
	switch {
	case ring.Outcome == wake.Rang:
		st.State, st.At, st.By = Rung, ring.At, ring.Method
	case ring.Outcome == Handed && ring.Oldest == m.ID: // in parts, and not all of them yet
		st.State, st.At, st.By = Handed, ring.At, ring.Method
	}
	return st
}

// mailboxes gives the ids of all sessions that are registered or ever had mail: its lock file stays.
func (b *Broker) mailboxes(ctx context.Context) ([]string, error) {
	rows, err := b.rows(ctx)
	if err != nil {
		return nil, err
	}
	var sids []string
	seen := map[string]bool{}
	add := func(sid string) {
		if inbox.ValidName(sid) && !seen[sid] {
			seen[sid] = true
			sids = append(sids, sid)
		}
	}
	for _, r := range rows {
		add(r.sid())
	}
	names, err := b.root.Names()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		for _, suffix := range []string{inboxSuffix, ".inbox.lock"} {
			if sid, ok := strings.CutSuffix(name, suffix); ok {
				add(sid)
			}
		}
	}
	return sids, nil
}

// Waiting tells which sessions have mail that nobody has in hand. It looks at the root once, and only into
// the mailboxes that were ever used. broken tells of those that cannot be looked into.
func (b *Broker) Waiting(sessions []Session) (waiting map[string]bool, broken map[string]error, err error) {
	names, err := b.root.Names()
	if err != nil {
		return nil, nil, err
	}
	used := map[string]bool{}
	for _, name := range names {
		for _, suffix := range mailSuffixes() {
			if sid, ok := strings.CutSuffix(name, suffix); ok {
				used[sid] = true
			}
		}
	}
	waiting, broken = map[string]bool{}, map[string]error{}
	for _, s := range sessions {
		if !used[s.ID] || !inbox.ValidName(s.ID) { // the original allows any id; we open no such mailbox
			continue
		}
		box, err := b.Mailbox(s.ID)
		if err == nil {
			waiting[s.ID], err = box.Waiting()
		}
		if err != nil {
			broken[s.ID] = err
		}
	}
	return waiting, broken, nil
}
