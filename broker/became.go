package broker

import (
	"time"

	"c2c/broker/owed"
	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/internal/format"
	"c2c/sessions"
	"c2c/wake"
)

// MessageStatus is what the disk proves about a message.
type MessageStatus struct {
	ID        string      `json:"message_id"`
	State     string      `json:"state"`              // Queued, Rung, Handed, Read, Dead or Expired
	At        time.Time   `json:"at"`                 // when the message got this state; UTC. See also HandedAt
	HandedAt  time.Time   `json:"handed_at,omitzero"` // if it was read: the time of its hand-over; the newest answer after it was at the time At
	By        string      `json:"by,omitempty"`       // the reader, or the method that rang
	SessionID string      `json:"session_id"`         // the session in whose mailbox it is
	From      string      `json:"from_alias"`
	To        string      `json:"to_alias"`
	KnownBy   string      `json:"known_by,omitempty"`   // how c2c knows the sender, see mail.Message; "": it does not know the sender
	StartedBy string      `json:"started_by,omitempty"` // the alias of the session that has started the sender's client
	LastRing  wake.Ring   `json:"last_ring,omitzero"`   // the receiver's last ring since the send, while the message waits
	Reason    string      `json:"reason,omitempty"`     // why the message is a dead letter
	Told      []owed.Told `json:"told,omitempty"`       // notices that its sender got about it
	ExpiresAt time.Time   `json:"expires_at,omitzero"`
	NotBefore time.Time   `json:"not_before,omitzero"` // c2c does not hand it over before this time
	Held      bool        `json:"held,omitempty"`      // the loop guard holds it until NotBefore, or until one side works
	owed.Asked
	shown       bool            // a reader has handed over all of it
	StoredAt    time.Time       `json:"stored_at,omitzero"`
	Host        string          `json:"host,omitempty"`          // the machine of its receiver, if it is not this machine
	Project     string          `json:"project,omitempty"`       // the other project of its receiver
	StoredThere time.Time       `json:"stored_at_host,omitzero"` // when that machine or project stored it
	there       *MessageStatus  // its status in that project
	Way         []string        `json:"way,omitempty"`          // what has happened to it: sentences with local times
	Receiver    *sessions.Now   `json:"receiver_now,omitempty"` // the receiver's present state, while the message waits
	Why         string          `json:"why,omitempty"`          // a sentence why it is not read yet
	Do          string          `json:"do,omitempty"`           // what a person can do about it
	Others      []MessageStatus `json:"others,omitempty"`       // further messages with this id: several senders, or several receivers
}

// Became returns the state of a message and the time of the state, such as "handed 13:24:01" or
// "read after 13:24:01" (see HandedAt).
func (s MessageStatus) Became(now time.Time) string {
	text := s.State
	switch {
	case !s.HandedAt.IsZero():
		text += " after " + format.Clock(s.HandedAt, now)
	case s.State != sessions.Queued:
		text += " " + format.Clock(s.At, now)
	}
	return text
}

func StatusOf(reg *sessions.Registry, id, sid string, found inbox.Found) MessageStatus {
	return NewLister(reg).Status(id, sid, found)
}

// Status returns what the disk proves about a message that was found in a mailbox.
func (l *Lister) Status(id, sid string, found inbox.Found) MessageStatus {
	reg, m := l.reg, found.Message
	st := MessageStatus{ID: id, At: found.At.UTC(), By: found.By, SessionID: sid, From: m.From, To: m.To}
	switch id, isProject := sessions.ProjectOf(sid); {
	case found.Where == inbox.DeadLetter: // no outbox has it any more
	case isProject:
		l.projectStatus(&st, found, id)
		return st
	case sessions.IsHostID(sid):
		l.remoteStatus(&st, found)
		return st
	}
	state, answered := sessions.StateOf(reg, sid, found)
	if st.State = state; found.Where == inbox.Archived {
		if st.shown = true; state == sessions.Read {
			st.HandedAt = st.At
		}
		if !answered.IsZero() {
			st.At = answered.UTC()
		}
		return st
	}
	ring := reg.Facts.Of(sid).LastRing
	// held: the client has the message, but has not given it to its model yet.
	held := ring.Outcome == wake.Held && found.Where == inbox.Leased && found.By == ring.Method
	if ring.At.Before(m.Time()) || sessions.IsFuture(ring.At, reg.Now()) || found.Where != inbox.Waiting && !held {
		return st
	}
	// If the message could not be handed over yet, the ring was for other messages.
	if !owed.OpensAt(reg, sid, m).IsZero() || m.Held == "" && ring.At.Before(mail.FromSeconds(m.OpensAt())) {
		return st
	}
	st.State, st.LastRing = sessions.Queued, ring
	switch {
	case ring.Outcome == wake.Rang:
		st.State, st.At, st.By = sessions.Rung, ring.At.UTC(), ring.Method
	case held:
		st.At, st.By = m.Time().UTC(), ""
	case ring.Outcome == wake.InPart && ring.IsFor(m):
		st.State, st.At, st.By = sessions.Handed, ring.At.UTC(), ring.Method
	}
	return st
}
