package broker

import (
	"cmp"
	"context"
	"errors"

	"c2c/broker/moves"
	"c2c/broker/owed"
	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/sessions"
)

// sending is a message on its way to one mailbox.
type sending struct {
	b       *Broker
	from    sessions.Session
	to      sessions.Row
	reader  sessions.Session // the session that has the row in the field to
	box     *inbox.Mailbox
	room    string       // the room if the message is a post in a room, else ""
	message mail.Message // once the method store has run: the message as it was stored
	note    string       // the text of the loop guard for the sender
	again   bool         // the mailbox already had the message
}

// address sets the fields that the sender cannot choose.
func (s *sending) address(ctx context.Context) {
	m := &s.message
	m.From, m.To, m.ToAbsent = s.from.Alias, s.to.Alias(), s.reader.State == sessions.Absent
	if s.room != "" {
		m.To += "#" + s.room // the address of a post
	}
	m.FromPerson, m.External, m.Due = s.from.IsProvenPerson(), s.from.State == sessions.External, owed.DueOf(*m, s.b.Now())
	m.KnownBy, m.StartedBy = cmp.Or(s.from.KnownBy, mail.ByClaim), ""
	switch {
	case m.External:
		m.KnownBy = mail.ByOutside // the caller has checked the key
	case m.KnownBy == mail.ByProcess:
		m.StartedBy = s.b.AliasOf(ctx, s.from.Facts.StartedBy)
	}
	if m.External && m.TellAfter == 0 {
		m.TellAfter = -1 // a sender outside asks for the status, and wants no notice
	}
	if m.ID != "" {
		m.FromSession = s.from.ID
	}
}

// guard lets the loop guard count the message, and hold or refuse it.
func (s *sending) guard(ctx context.Context) (err error) {
	s.note, err = owed.Guard(ctx, s.b.Registry, s.b.cfg.Hops, s.from, s.to, s.box, &s.message)
	if err != nil && !errors.Is(err, owed.ErrTooManyAnswers) { // store the mail all the same
		s.b.Log.Warn("a message is not counted", "to", s.to.SID(), "err", err)
		return nil
	}
	return err
}

// store puts the message on disk.
func (s *sending) store(ctx context.Context) error {
	stored, err := owed.Deliver(ctx, s.b.Registry, s.to.SID(), s.box.Deliver, s.message)
	if err == nil {
		s.message, s.again = stored.Messages[0], stored.Already[0]
	}
	return err
}

// receipt makes the receipt. It says what was stored, and why the receiver will not read it at
// once.
func (s *sending) receipt() Receipt {
	look := s.b.Prober()
	m, now := s.message, look.Now(s.reader, false)
	r := Receipt{Queued: true, TS: m.TS, From: s.from.Alias, To: s.to.Alias(), ID: m.ID, Recipient: s.reader.State, Now: now,
		Duplicate: s.again, InReplyTo: m.InReplyTo, Asked: owed.AskedOf(m)}
	if _, isProject := sessions.ProjectOf(s.to.SID()); !isProject { // otherwise carryNow finds out what the receiver does
		r.Note = look.Note(s.reader, now, m.Deferrable)
	}
	switch {
	case !s.again:
		r.Held, r.HeldUntil, r.Note = m.Held != "", owed.OpensAt(s.b.Registry, s.to.SID(), m), cmp.Or(s.note, r.Note)
	case m.Expired(mail.Seconds(s.b.Now())):
		r.Note = "it has expired and is not handed over any more: to send it again, give it another id"
	}
	return r
}

// follow does the steps after the store. If a step fails, the message waits all the same. The
// process that checks deadlines, and the next Attach, repeat all these steps except the log line.
func (s *sending) follow(ctx context.Context, held bool) {
	s.record(ctx, held)
	if s.reader.State == sessions.Remote {
		return
	}
	moves.Forward(ctx, s.b.Registry, s.to.SID(), s.to.Alias()) // the receiver may have lost its row meanwhile
}

// record writes the log line, and records the answer that the receiver owes now, or the one that
// the sender has given.
func (s *sending) record(ctx context.Context, held bool) {
	m := s.message
	s.b.Events.Record(ctx, sessions.EventSent, "from_alias", s.from.Alias, "to_alias", s.to.Alias(), "message_id", m.ID)
	if err := owed.AddFor(ctx, s.b.Registry, s.reader, m, s.again); err != nil {
		s.b.Log.Warn("the sender will get no notice if there is no answer", "message_id", m.ID, "err", err)
	}
	if err := owed.RecordAnswer(ctx, s.b.Registry, s.from.ID, s.to, m); err != nil {
		s.b.Log.Warn("an answer is not recorded", "message_id", m.ID, "err", err)
	}
	if held {
		if err := owed.TellHeld(ctx, s.b.Registry, s.to.SID(), m); err != nil { // a Checker sends missing notices later
			s.b.Log.Warn("notices about a held message were not sent", "message_id", m.ID, "err", err)
		}
	}
}
