package live

import (
	"cmp"
	"strings"
	"time"

	"c2c/inbox/mail"
	"c2c/sessions"
)

// Mail is a message and its state.
type Mail struct {
	mail.Message        // a long content is cut, and large fields of other programs are left out
	Cut          int    // size of the whole content in bytes, if it was cut
	SessionID    string // the owner of the mailbox in which the message is
	Key          mail.Fingerprint

	State string    // Queued, Rung, Handed, Read or Dead of package sessions; or Posted
	At    time.Time // when the message got this state
	// HandedAt is the time of the hand-over if c2c does not know when the message was read. Then At
	// is the model's newest answer after it.
	HandedAt time.Time
	Leased   time.Time // the time of the hand-over of a message that was read at the time At
	By       string    // the reader, or the method of the ring
	Why      string    // the reason, for a dead letter

	awaits bool // the state stays Handed until the model answers
}

// Mails keeps the newest messages from events, each with its state. Only one goroutine may use it
// at a time.
type Mails struct {
	Posts       bool // keep posts to rooms too, with the state Posted
	limit, size int  // see NewMails
	all         []*Mail
	byKey       map[mail.Fingerprint]*Mail
}

// NewMails makes a Mails that keeps at most limit messages, and at most size bytes of the content
// of each.
func NewMails(limit, size int) *Mails {
	return &Mails{limit: limit, size: size, byKey: map[mail.Fingerprint]*Mail{}}
}

// All returns the messages, in the order of their events.
func (m *Mails) All() []*Mail { return m.all }

// Known returns the message with this key, or nil.
func (m *Mails) Known(key mail.Fingerprint) *Mail { return m.byKey[key] }

// stateOf maps the kind of an event to the state of its message after the event.
var stateOf = map[string]string{Leased: sessions.Handed, Back: sessions.Queued, Dead: sessions.Dead}

// Add takes events in their order. It returns the messages that are new or have a new state, and no
// message twice.
func (m *Mails) Add(events []Event) (changed []*Mail) {
	seen := map[*Mail]bool{}
	change := func(one *Mail) {
		if !seen[one] {
			seen[one] = true
			changed = append(changed, one)
		}
	}
	for _, e := range events {
		one := m.byKey[e.Fingerprint]
		switch e.What {
		case Stored:
			change(m.store(e))
		case Posted:
			if m.Posts && one == nil {
				one = m.store(e)
				one.State = Posted
				change(one)
			}
		case Leased, Archived, Back, Dead:
			if one != nil {
				one.State, one.At, one.HandedAt, one.Leased, one.By, one.Why = cmp.Or(e.State, stateOf[e.What]), e.At, time.Time{}, time.Time{}, e.By, e.Why
				if one.awaits = e.Awaits; !e.Answered.IsZero() {
					one.At, one.HandedAt = e.Answered, e.At
				}
				change(one)
			}
		case Answers:
			for _, one := range m.all {
				if one.awaits && one.SessionID == e.SessionID && one.At.Before(e.At) {
					one.State, one.At, one.Leased, one.awaits = sessions.Read, e.At, one.At, false
					change(one)
				}
			}
		case Rung:
			for _, one := range m.all {
				if one.SessionID == e.SessionID && one.State == sessions.Queued && !one.Deferrable && one.ringsAt(e.At) {
					one.State, one.At, one.By, one.Why = sessions.Rung, e.At, e.Ring.Method, ""
					change(one)
				}
			}
		}
	}
	for len(m.all) > m.limit {
		delete(m.byKey, m.all[0].Key)
		m.all = m.all[1:]
	}
	return changed
}

func (m *Mails) store(e Event) *Mail {
	one := &Mail{Message: e.Message, SessionID: e.SessionID, Key: e.Fingerprint, State: sessions.Queued, At: e.At}
	if len(one.Content) > m.size {
		one.Content, one.Cut = strings.ToValidUTF8(strings.Clone(one.Content[:m.size]), ""), len(one.Content)
	}
	extra := 0
	for _, f := range one.Extra {
		extra += len(f.Name) + len(f.Value)
	}
	if extra > m.size {
		one.Extra = nil
	}
	m.byKey[e.Fingerprint] = one
	m.all = append(m.all, one)
	return one
}

// ringsAt reports whether a ring at this time may have been for the message. If the message was
// sent later, or was still held back, the ring was for other mail.
func (m *Mail) ringsAt(at time.Time) bool {
	return !at.Before(m.Time()) && !at.Before(mail.FromSeconds(m.OpensAt()))
}
