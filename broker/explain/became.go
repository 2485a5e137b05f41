package explain

import (
	"slices"
	"time"

	"c2c/broker/loops"
	"c2c/broker/notice"
	"c2c/broker/owed"
	"c2c/format"
	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/sessions"
	"c2c/sessions/turns"
	"c2c/wake"
)

// MessageStatus is what the disk proves about a message.
type MessageStatus struct {
	ID        string        `json:"message_id"`
	State     string        `json:"state"`        // Queued, Rung, Handed, Read, Dead or Expired
	At        time.Time     `json:"at"`           // when it came into that state; UTC
	By        string        `json:"by,omitempty"` // the reader, or the method that rang
	SessionID string        `json:"session_id"`   // whose mailbox it is in
	From      string        `json:"from_alias"`
	To        string        `json:"to_alias"`
	LastRing  wake.Ring     `json:"last_ring,omitzero"` // of its session since it was sent, while it waits
	Reason    string        `json:"reason,omitempty"`   // why no mailbox takes it
	Told      []notice.Told `json:"told,omitempty"`     // what its sender was told of it
	ExpiresAt time.Time     `json:"expires_at,omitzero"`
	NotBefore time.Time     `json:"not_before,omitzero"` // it is not handed over before
	Held      bool          `json:"held,omitempty"`      // until then by the loop guard, or until somebody works
	owed.Asked
	shown    bool            // a reader has handed it over in full
	dropped  bool            // and its client has dropped it since
	StoredAt time.Time       `json:"stored_at,omitzero"`
	Way      []string        `json:"way,omitempty"`          // what has happened to it, in words with local times
	Receiver *sessions.Now   `json:"receiver_now,omitempty"` // what its receiver does, while it waits
	Why      string          `json:"why,omitempty"`          // what keeps it from being read, in words
	Do       string          `json:"do,omitempty"`           // what one can do about that
	Others   []MessageStatus `json:"others,omitempty"`       // further messages with this id: several senders, or several receivers
}

// Became says what became of a message, and when: "read 13:24:01". Way tells how, in words.
func (s MessageStatus) Became(now time.Time) string {
	text := s.State
	if s.State != sessions.Queued {
		text += " " + format.Clock(s.At, now)
	}
	return text
}

func Status(reg *sessions.Registry, id, sid string, found inbox.Found) MessageStatus {
	m := found.Message
	st := MessageStatus{ID: id, State: found.Where, At: found.At.UTC(), By: found.By, SessionID: sid, From: m.From, To: m.To}
	if found.Where == inbox.Read {
		st.State, st.shown = sessions.AfterRead(found.By), true
		if turns.Unanswered(reg, sid, found.By, found.At) {
			st.State = sessions.Handed
			if st.dropped = slices.Contains(reg.Facts.Of(sid).Dropped, id); st.dropped {
				st.State, st.At, st.By = sessions.Queued, m.Time().UTC(), ""
			}
		}
		return st
	}
	ring := reg.Facts.Of(sid).LastRing
	held := ring.Outcome == wake.Held && found.Where == inbox.Handed && found.By == ring.Method // the client keeps it from its model
	if ring.At.Before(m.Time()) || sessions.IsFuture(ring.At, reg.Now()) || found.Where != inbox.Queued && !held {
		return st
	}
	if !loops.OpensAt(reg, sid, m).IsZero() || m.Held == "" && ring.At.Before(mail.FromSeconds(m.OpensAt())) { // the ring was for others
		return st
	}
	st.State, st.LastRing = sessions.Queued, ring
	switch {
	case ring.Outcome == wake.Rang:
		st.State, st.At, st.By = sessions.Rung, ring.At.UTC(), ring.Method
	case held:
		st.At, st.By = m.Time().UTC(), ""
	case ring.Outcome == sessions.Handed && ring.IsFor(m): // in parts, and not all of them yet
		st.State, st.At, st.By = sessions.Handed, ring.At.UTC(), ring.Method
	}
	return st
}
