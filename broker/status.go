package broker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"c2c/inbox"
	"c2c/wake"
)

// ErrNoMessage: no mailbox, archive or dead letter has the id.
var ErrNoMessage = errors.New("no such message")

// States of a message. There is no "delivered", because c2c says only what it knows.
const (
	Queued = inbox.Queued
	Rung   = "rung" // it waits, and the session was told so
	Handed = inbox.Handed
	Read   = inbox.Read
	Dead   = "dead" // its session was swept
	// Expired is a state too: it was not read in time, and is a dead letter.
)

// ByEvents is the reader that writes the answers to a sender outside on its stream. Nothing tells whether anybody reads them
// there.
const ByEvents = "events"

// AfterRead is the state of a message that a reader has handed over in full, and whose receiver's model has answered since if
// something tells of that: Handed where nothing tells whether it was read.
func AfterRead(by string) string {
	if by == wake.ByTerminal || by == ByEvents {
		return Handed
	}
	return Read
}

// MessageStatus is what the disk proves about a message.
type MessageStatus struct {
	ID        string    `json:"message_id"`
	State     string    `json:"state"`        // Queued, Rung, Handed, Read, Dead or Expired
	At        time.Time `json:"at"`           // when it came into that state; UTC
	By        string    `json:"by,omitempty"` // the reader, or the method that rang
	SessionID string    `json:"session_id"`   // whose mailbox it is in
	From      string    `json:"from_alias"`
	To        string    `json:"to_alias"`
	LastRing  wake.Ring `json:"last_ring,omitzero"` // of its session since it was sent, while it waits
	Reason    string    `json:"reason,omitempty"`   // why no mailbox takes it
	Told      []Told    `json:"told,omitempty"`     // what its sender was told of it
	ExpiresAt time.Time `json:"expires_at,omitzero"`
	NotBefore time.Time `json:"not_before,omitzero"` // it is not handed over before
	Held      bool      `json:"held,omitempty"`      // until then by the loop guard, or until somebody works
	Asked
	shown    bool            // a reader has handed it over in full
	dropped  bool            // and its client has dropped it since
	StoredAt time.Time       `json:"stored_at,omitzero"`
	Way      []string        `json:"way,omitempty"`          // what has happened to it, in words with local times
	Receiver *Now            `json:"receiver_now,omitempty"` // what its receiver does, while it waits
	Why      string          `json:"why,omitempty"`          // what keeps it from being read, in words
	Do       string          `json:"do,omitempty"`           // what one can do about that
	Others   []MessageStatus `json:"others,omitempty"`       // further messages with this id: several senders, or several receivers
}

// Status finds a message by what MessageID takes for its id, or several when senders have chosen that id. ErrNoMessage
// when nobody knows it: an ephemeral message that was read is only known when its sender chose the id.
func (b *Broker) Status(ctx context.Context, typed string) (MessageStatus, error) {
	if m, ok := b.sentLately(ctx, typed); ok {
		return m.Status, nil
	}
	id, err := b.MessageID(ctx, typed)
	if err != nil {
		return MessageStatus{}, err
	}
	all, err := b.Mails(ctx, id)
	if err != nil {
		return MessageStatus{}, err
	}
	first := all[0].Status
	for _, m := range all[1:] {
		first.Others = append(first.Others, m.Status)
	}
	return first, nil
}

// Mails gives the messages with a whole id, as a rule one, each with all that is known of it. ErrNoMessage as in Status.
func (b *Broker) Mails(ctx context.Context, id string) (all []Mail, err error) {
	if all, err = b.withWay(ctx, id); err == nil && len(all) == 0 {
		err = fmt.Errorf("message %q: %w", id, ErrNoMessage)
	}
	return all, err
}

func (b *Broker) withWay(ctx context.Context, id string) (all []Mail, err error) {
	sids, err := b.mailboxes(ctx)
	if err != nil {
		return nil, err
	}
	var unread []error // of what cannot be looked into: it may be there
	for _, sid := range sids {
		box, err := b.Mailbox(sid)
		var found []inbox.Found
		if err == nil {
			found, err = box.Find(ctx, id)
		}
		if err != nil {
			unread = append(unread, err)
		}
		for _, st := range found {
			all = append(all, b.mailOf(ctx, sid, st))
		}
		if len(found) == 1 && found[0].Message.FromSession == "" {
			return all, nil // nobody chose this id, so nobody else has it
		}
	}
	dead, err := b.DeadLetters(ctx, 0)
	if err != nil {
		unread = append(unread, err)
	}
	for _, d := range dead {
		if d.Message.ID == id {
			all = append(all, Mail{d.Message, b.deadStatus(ctx, id, d)})
		}
	}
	if len(all) == 0 && len(unread) > 0 {
		return nil, fmt.Errorf("find message %q: %w", id, errors.Join(unread...))
	}
	return all, nil
}

// mailOf is what was found in the mailbox of a session, with all that is known of it.
func (b *Broker) mailOf(ctx context.Context, sid string, found inbox.Found) Mail {
	s := b.registered(ctx, sid)
	if s != nil && found.Where == inbox.Read && b.Unanswered(sid, found.By, found.At) {
		b.lookForAnswer(*s)
	}
	is := b.status(found.Message.ID, sid, found)
	is = b.owed(ctx, found.Message, is)
	b.tellWay(&is, found.Message, s)
	return Mail{found.Message, is}
}

// sentLately finds a message by what send printed, in the one mailbox that the end of broker.log names. It is as cheap in a
// root of many sessions as in an empty one. What is not found so is looked for everywhere: mail may have moved, and an id
// that a sender chose may stand in several mailboxes.
func (b *Broker) sentLately(ctx context.Context, typed string) (m Mail, ok bool) {
	if !inbox.IsUUID(typed) && (len(typed) != inbox.ShortLen || !inbox.LooksLikeID(typed)) {
		return m, false
	}
	sent, err := b.loggedLately(typed)
	if err != nil || len(sent) != 1 {
		return m, false
	}
	rows, err := b.rows(ctx)
	to := holders(rows, sent[0].To)
	if err != nil || len(to) != 1 {
		return m, false
	}
	box, err := b.Mailbox(to[0].sid())
	if err != nil {
		return m, false
	}
	found, err := box.Find(ctx, sent[0].ID)
	if err != nil || len(found) != 1 || found[0].Message.FromSession != "" || fold(found[0].Message.From) != fold(sent[0].From) {
		return m, false
	}
	return b.mailOf(ctx, to[0].sid(), found[0]), true
}

func (b *Broker) deadStatus(ctx context.Context, id string, d DeadLetter) MessageStatus {
	st := MessageStatus{ID: id, State: Dead, At: inbox.FromSeconds(d.DeletedAt).UTC(), SessionID: d.SessionID,
		From: d.Message.From, To: d.Message.To, Reason: d.Reason}
	if d.Reason == Expired {
		st.State, st.Reason = Expired, ""
	}
	st = b.owed(ctx, d.Message, st)
	b.tellWay(&st, d.Message, nil)
	return st
}

// registered gives a session, nil when it is not registered.
func (b *Broker) registered(ctx context.Context, sid string) *Session {
	rows, err := b.rows(ctx)
	i := findSID(rows, sid)
	if err != nil || i < 0 {
		return nil
	}
	s := b.session(rows[i])
	return &s
}

// owed adds to a status what the message is owed, and what its sender was told.
func (b *Broker) owed(ctx context.Context, m inbox.Message, st MessageStatus) MessageStatus {
	st.Asked = asked(m)
	if m.ExpiresAt != 0 {
		st.ExpiresAt = inbox.FromSeconds(m.ExpiresAt).UTC()
	}
	if opens := b.opens(st.SessionID, m); !opens.IsZero() && st.State == Queued {
		st.NotBefore, st.Held = opens.UTC(), m.Held != ""
	}
	rows, err := b.rows(ctx)
	if err == nil && m.From != SystemAlias {
		st.Told, err = b.told(ctx, rows, m)
	}
	if err != nil {
		b.log.Warn("what the sender was told is not known", "message_id", m.ID, "err", err)
	}
	return st
}

func (b *Broker) status(id, sid string, found inbox.Found) MessageStatus {
	m := found.Message
	st := MessageStatus{ID: id, State: found.Where, At: found.At.UTC(), By: found.By, SessionID: sid, From: m.From, To: m.To}
	if found.Where == inbox.Read {
		st.State, st.shown = AfterRead(found.By), true
		if b.Unanswered(sid, found.By, found.At) {
			st.State = Handed
			if st.dropped = slices.Contains(b.factsOf(sid).Dropped, id); st.dropped {
				st.State, st.At, st.By = Queued, m.Time().UTC(), ""
			}
		}
		return st
	}
	ring := b.factsOf(sid).LastRing
	held := ring.Outcome == wake.Held && found.Where == inbox.Handed && found.By == ring.Method // the client keeps it from its model
	if ring.At.Before(m.Time()) || isFuture(ring.At, b.now()) || found.Where != inbox.Queued && !held {
		return st
	}
	if !b.opens(sid, m).IsZero() || m.Held == "" && ring.At.Before(inbox.FromSeconds(m.OpensAt())) { // the ring was for others
		return st
	}
	st.State, st.LastRing = Queued, ring
	switch {
	case ring.Outcome == wake.Rang:
		st.State, st.At, st.By = Rung, ring.At.UTC(), ring.Method
	case held:
		st.At, st.By = m.Time().UTC(), ""
	case ring.Outcome == Handed && ring.IsFor(m): // in parts, and not all of them yet
		st.State, st.At, st.By = Handed, ring.At.UTC(), ring.Method
	}
	return st
}

// mailboxes gives the ids of all sessions that ever had mail, the registered ones first: the lock file stays.
func (b *Broker) mailboxes(ctx context.Context) (sids []string, err error) {
	rows, err := b.rows(ctx)
	if err != nil {
		return nil, err
	}
	used, err := inbox.Sessions(b.root)
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		if sid := r.sid(); used[sid] {
			sids = append(sids, sid)
			delete(used, sid)
		}
	}
	return append(sids, slices.Sorted(maps.Keys(used))...), nil
}
