package broker

import (
	"context"
	"fmt"
	"slices"
	"time"

	"c2c/broker/owed"
	"c2c/inbox/mail"
	"c2c/sessions"
)

// Receipt confirms only that a message is stored in the receiver's mailbox.
type Receipt struct {
	Queued    bool           `json:"queued"` // always true
	TS        float64        `json:"ts"`     // when it was sent, as in the message
	From      string         `json:"from_alias"`
	To        string         `json:"to_alias"`
	ID        string         `json:"message_id"`
	Recipient sessions.State `json:"recipient"`
	Now       sessions.Now   `json:"recipient_now"`       // what the receiver does
	Duplicate bool           `json:"duplicate,omitempty"` // the mailbox had this message before
	Note      string         `json:"note,omitempty"`      // why the receiver will not read it at once
	Held      bool           `json:"held,omitempty"`      // the loop guard holds the message
	HeldUntil time.Time      `json:"held_until,omitzero"` // the message is released at this time, or earlier
	InReplyTo string         `json:"in_reply_to,omitempty"`
	Host      string         `json:"host,omitempty"` // the machine to which the message must still go
	owed.Asked
}

// Send puts m into the mailbox of the alias m.To; the case of the alias does not count. m.Kind is
// one of Kinds or "", and m.Tag is one of Tags or "". If the caller chooses m.ID, it can repeat the
// call without harm: a mailbox takes each id of a sender only once. m.InReplyTo may be a part of an
// id, see MessageID. Errors: *UnknownAliasError, ErrSelfSend, and those of
// inbox.Mailbox.Deliver. When Send returns nil, the message survives a power cut.
func (b *Broker) Send(ctx context.Context, from sessions.Session, m mail.Message) (Receipt, error) {
	if err := CheckSender(from, m); err != nil {
		return Receipt{}, err
	}
	rows, err := b.Rows(ctx)
	if err != nil {
		return Receipt{}, err
	}
	to, err := b.addressee(rows, m.To)
	if err != nil {
		return Receipt{}, err
	}
	if to == nil && sessions.Fold(m.To) == sessions.SystemAlias {
		return Receipt{}, fmt.Errorf("%q is c2c itself, and reads no mail: there is nothing to answer", sessions.SystemAlias)
	}
	if to == nil {
		return Receipt{}, sessions.UnknownAlias(b.Registry, rows, m.To)
	}
	if to.SID() == from.ID || sessions.Fold(to.Alias()) == sessions.Fold(from.Alias) {
		return Receipt{}, fmt.Errorf("%w: %q is this session's own alias", sessions.ErrSelfSend, m.To)
	}
	if err := b.cfg.checkHost(to.SID()); err != nil {
		return Receipt{}, err
	}
	if m.InReplyTo, err = b.answered(ctx, from, m.InReplyTo); err != nil {
		return Receipt{}, err
	}
	if err := b.checkProject(ctx, from, to, m); err != nil {
		return Receipt{}, err
	}
	return b.deliver(ctx, from, to, "", m)
}

// SendFromRoom is Send to a member of a room. The member is named by its session sid, because
// another session may take the alias of a member that has gone. m.InReplyTo is a whole id of a post
// in the room, so SendFromRoom does not look for it.
func SendFromRoom(ctx context.Context, b *Broker, from sessions.Session, room, sid string, m mail.Message) (Receipt, error) {
	rows, err := b.Rows(ctx)
	if err != nil {
		return Receipt{}, err
	}
	i := sessions.FindSID(rows, sid)
	if i < 0 {
		return Receipt{}, fmt.Errorf("session %q of a member: %w", sid, sessions.ErrNoSession)
	}
	return b.deliver(ctx, from, rows[i], room, m)
}

// CheckSender returns an error if m is invalid (its id, kind or tag), if the session from cannot
// send, or if m is an answer and the caller may not answer for this session.
func CheckSender(from sessions.Session, m mail.Message) error {
	if from.ID == "" || from.Alias == "" {
		return fmt.Errorf("send: %w: the sender has no alias", sessions.ErrNoSession)
	}
	if sessions.Fold(from.Alias) == sessions.SystemAlias {
		return fmt.Errorf("send: %q is c2c itself: choose another alias with c2c register", from.Alias)
	}
	if m.InReplyTo != "" {
		if err := from.MayAct(); err != nil {
			return fmt.Errorf("answer message %s: %w", mail.ShortID(m.InReplyTo), err)
		}
	}
	if m.ID != "" {
		if err := sessions.CheckID(m.ID); err != nil {
			return err
		}
	}
	if m.Kind != "" && !slices.Contains(Kinds(), m.Kind) {
		return fmt.Errorf("kind %q is none of %q", m.Kind, Kinds())
	}
	if m.Tag != "" && !slices.Contains(Tags(), m.Tag) {
		return fmt.Errorf("tag %q is none of %q", m.Tag, Tags())
	}
	return nil
}

// deliver addresses, guards and stores a message. Only after that it writes the log and the records
// of owed answers, so these have no entry for a message that was not stored. Once the message is
// stored, deliver fails only if another project refuses it.
func (b *Broker) deliver(ctx context.Context, from sessions.Session, to sessions.Row, room string, m mail.Message) (Receipt, error) {
	box, err := b.Mailbox(to.SID())
	if err != nil {
		return Receipt{}, err
	}
	s := &sending{b: b, from: from, to: to, reader: b.Session(to), box: box, room: room, message: m}
	s.address(ctx)
	if err := s.guard(ctx); err != nil {
		return Receipt{}, err
	}
	if err := s.store(ctx); err != nil {
		return Receipt{}, fmt.Errorf("send to %q: %w", to.Alias(), err)
	}
	receipt := s.receipt()
	s.follow(ctx, receipt.Held)
	if _, isProject := sessions.ProjectOf(to.SID()); isProject {
		if err := s.carryNow(ctx, &receipt); err != nil {
			return Receipt{}, fmt.Errorf("send to %q: %w", to.Alias(), err)
		}
	} else if s.reader.State == sessions.Remote {
		b.wantRelay(&receipt)
	}
	return receipt, nil
}

// Skipped is a session that SendAll left out.
type Skipped struct {
	Alias  string `json:"alias"`
	Reason string `json:"reason"`
}

// SendAll sends a message to every session except the sender, the excluded aliases, absent sessions
// and senders outside. If a mailbox refuses the message, or if ctx has ended, SendAll goes on with
// the next session. So each session but the sender is in one of the two results.
func (b *Broker) SendAll(ctx context.Context, from sessions.Session, m mail.Message, exclude ...string) ([]Receipt, []Skipped, error) {
	if err := CheckSender(from, m); err != nil {
		return nil, nil, err
	}
	rows, err := b.Rows(ctx)
	if err != nil {
		return nil, nil, err
	}
	if m.TellAfter == 0 {
		m.TellAfter = -1 // a sender that writes to all wants no notice about each receiver
	}
	m.Due = owed.NotAsked
	if m.ID == "" {
		m.ID = mail.NewID(b.Now()) // one id for all, by which their states are found
	}
	var sent []Receipt
	var skipped []Skipped
	for _, to := range rows {
		if to.SID() == from.ID || sessions.Fold(to.Alias()) == sessions.Fold(from.Alias) {
			continue
		}
		if reason := b.skip(to, exclude); reason != "" {
			skipped = append(skipped, Skipped{to.Alias(), reason})
			continue
		}
		receipt, err := b.deliver(ctx, from, to, "", m)
		if err != nil {
			skipped = append(skipped, Skipped{to.Alias(), err.Error()})
			continue
		}
		sent = append(sent, receipt)
	}
	return sent, skipped, nil
}

func (b *Broker) skip(to sessions.Row, exclude []string) string {
	if slices.ContainsFunc(exclude, func(s string) bool { return sessions.Fold(s) == sessions.Fold(to.Alias()) }) {
		return "excluded"
	}
	switch b.State(to) {
	case sessions.Absent:
		return "absent"
	case sessions.External:
		return "outside"
	}
	return ""
}
