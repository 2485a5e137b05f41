package broker

import (
	"context"
	"errors"

	"c2c/broker/owed"
	"c2c/client"
	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/sessions"
	"c2c/sessions/callers"
	"c2c/wake"
)

// Reader is a program that hands mail to a client or a person: a hook, or "c2c poll-inbox".
type Reader struct {
	By    string // the name of the reader in the archive and in rings
	Limit int64  // how much mail the reader takes, in bytes
	// Holds reports whether the client has already got this message in another way. Nil: this is
	// not known.
	Holds func(mail.Message) bool
	// Often is set if the reader runs many times in a turn. It then announces each message only
	// once.
	Often bool
	// Render makes the answer, a text with the messages. The argument more is true if further
	// messages wait.
	Render func(msgs []mail.Message, more bool) (Rendered, error)
}

// Rendered is a text with messages. Shown and Announced have indexes into the argument msgs of
// Render: of the messages that the text contains whole, and of those that it only mentions.
type Rendered struct {
	Shown, Announced []int
	// Write gives the text to the client. If Write fails, the client has not got the mail.
	Write func() error
}

// LeftToPlugin reports whether a hook must leave the session's mail to the plugin. It is only for
// clients with a plugin of ours, which is the ringer there. The hook leaves the mail while the
// plugin runs, and if it was killed after it leased mail: the client may have this mail already, so
// the mail waits until a plugin runs again.
func (b *Broker) LeftToPlugin(s sessions.Session) (bool, error) {
	if rings := b.Locks.HasRinger(s.ID); rings || !s.HasMod() {
		return rings, nil
	}
	box, err := b.Mailbox(s.ID)
	if err != nil {
		return false, err
	}
	return box.TakenBy(wake.ByPlugin)
}

// LeftToRinger reports whether a ringer of the session will bring its mail as soon as the turn is
// over. This is so if the ringer can ask the client's process for a turn, and has not tried that
// yet for this mail.
func (b *Broker) LeftToRinger(ctx context.Context, s sessions.Session) (bool, error) {
	if s.Quiet || !client.IsDaemon(s.Client, s.Process) || !b.Locks.HasRinger(s.ID) {
		return false, nil
	}
	box, err := b.Mailbox(s.ID)
	if err != nil {
		return false, err
	}
	msgs, err := box.Head(ctx, wake.MaxLook)
	msgs = wake.MayWake(msgs)
	return len(msgs) > 0 && (s.LastRing.Method == inbox.ByHook || !s.LastRing.IsFor(msgs[0])), err
}

// HandOver leases mail, writes it to the client, and only then acks it. After a kill in between,
// the mail is offered again. Mail that the answer only mentions waits on; this counts as a ring.
func (b *Broker) HandOver(ctx context.Context, s sessions.Session, h Reader) error {
	box, err := b.Mailbox(s.ID)
	if err != nil {
		return err
	}
	if h.Holds != nil {
		if err := box.Receive(ctx, h.Holds, wake.MethodsInPrompt()...); err != nil {
			return err
		}
	}
	l, err := box.Lease(ctx, h.By, h.Limit)
	if err != nil {
		return err
	}
	handed, announced, write, err := h.render(l)
	last := s.LastRing
	known := h.Often && len(handed) == 0 && last.IsFor(announced) && (last.Method == h.By || last.Outcome == wake.InPart)
	if err == nil && !known {
		err = write()
	}
	if err == nil && len(handed) == 0 && (known || announced.ID == "") {
		return l.Release()
	}
	if err != nil || known || len(handed) == 0 {
		err = errors.Join(err, l.Release())
	} else {
		err = l.Ack(ctx, handed...)
	}
	if err == nil && !known && announced.ID != "" {
		ring := wake.Ring{At: b.Now(), Method: h.By, Outcome: wake.Rang}.For(announced)
		err = owed.Rang(ctx, b.Registry, s.ID, []mail.Message{announced}, ring)
	}
	return err
}

// render calls Render. The result handed has the handles (Message.Handle) of the messages that the
// client had already, and of those that the answer contains. The result announced is the first
// message that the answer only mentions.
func (h Reader) render(l *inbox.Lease) (handed []string, announced mail.Message, write func() error, err error) {
	left := l.Messages
	if h.Holds != nil {
		left = nil
		for _, m := range l.Messages {
			if h.Holds(m) { // the doorbell gave up before the receipt came, but the client has the message
				handed = append(handed, m.Handle())
			} else {
				left = append(left, m)
			}
		}
	}
	r, err := h.Render(left, l.More)
	for _, i := range r.Shown {
		handed = append(handed, left[i].Handle())
	}
	if len(r.Announced) > 0 {
		announced = left[r.Announced[0]]
	}
	return handed, announced, r.Write, err
}

// RingOnce rings a session that has no server to ring it. Meanwhile it holds the right to ring, so
// that two calls for the same mail ring only once. The function say rings the client, or returns
// why it must not. The result rang is true only if say has rung the client.
func (b *Broker) RingOnce(ctx context.Context, sid string, say func(wake.Notice) error) (rang bool, err error) {
	release, free, err := b.Locks.BorrowRinging(sid)
	if err != nil || !free {
		return false, err
	}
	defer func() { err = errors.Join(err, release()) }()
	box, err := b.Mailbox(sid)
	if err != nil {
		return false, err
	}
	msgs, err := box.Head(ctx, wake.MaxLook)
	if err != nil || len(msgs) == 0 {
		return false, err
	}
	s, err := callers.Resolve(ctx, b.Registry, callers.Caller{Explicit: sid}) // after BorrowRinging: until then, another hook may ring
	if err != nil {
		return false, err
	}
	ring, notice := wake.DecideOnce(b.Now(), msgs, s.Quiet, s.LastRing)
	ring.Method = wake.ByFile
	if rang = ring.Outcome == wake.Rang; rang {
		err := say(notice)
		if err != nil && !errors.Is(err, wake.ErrUncaptured) {
			return false, err
		}
		if err != nil {
			rang, ring.Outcome, ring.Cause = false, wake.OutcomeOf(err), err.Error()
		}
	}
	return rang, owed.Rang(ctx, b.Registry, sid, msgs, ring)
}
