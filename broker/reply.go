package broker

import (
	"context"
	"errors"
	"fmt"

	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/sessions"
)

// Reply sends m as the answer to the message answered, which Received or LastReceived has returned.
// The answer goes to the session that wrote that message, even if its alias has changed since.
func (b *Broker) Reply(ctx context.Context, from sessions.Session, answered, m mail.Message) (Receipt, error) {
	m.InReplyTo = answered.ID
	if err := CheckSender(from, m); err != nil {
		return Receipt{}, err
	}
	short := mail.ShortID(answered.ID)
	if answered.From == sessions.SystemAlias { // do not look at the kind: archives of the OCaml c2c have none
		return Receipt{}, fmt.Errorf("message %s is a notice of c2c itself: nobody reads an answer to it", short)
	}
	rows, err := b.Rows(ctx)
	if err != nil {
		return Receipt{}, err
	}
	to := b.Authors(rows).Of(answered)
	if to == nil && len(sessions.Holders(rows, answered.From)) > 0 {
		return Receipt{}, fmt.Errorf("answer message %s: its sender has ended, and the name %s is another session's now", short, answered.From)
	}
	if to == nil {
		return Receipt{}, fmt.Errorf("answer message %s: %w", short, sessions.UnknownAlias(b.Registry, rows, answered.From))
	}
	if err := b.cfg.checkHost(to.SID()); err != nil {
		return Receipt{}, fmt.Errorf("answer message %s: %w", short, err)
	}
	if err := b.checkProject(ctx, from, to, m); err != nil {
		return Receipt{}, fmt.Errorf("answer message %s: %w", short, err)
	}
	if to.SID() == from.ID {
		return Receipt{}, fmt.Errorf("%s is your own message: write to %s anew (%w)", short, answered.To, sessions.ErrSelfSend)
	}
	if err := addressExternal(&m, answered); err != nil {
		return Receipt{}, fmt.Errorf("answer message %s: %w", short, err)
	}
	return b.deliver(ctx, from, to, "", m)
}

// If answered is from outside, addressExternal copies its chat id and its identity into m, the
// answer.
func addressExternal(m *mail.Message, answered mail.Message) error {
	asked, ok := answered.Origin()
	if !ok || !answered.External {
		return nil
	}
	o, _ := m.Origin()
	o.ChatID, o.Identity = asked.ChatID, asked.Identity
	return m.SetOrigin(o)
}

// Received returns the message that a session wants to answer. The argument typed is the message's
// id or a part of it, see MessageID. The message may be in the mailbox of another session whose
// work this session has taken over. If the message was pruned, broker.log may still have its
// sender.
func (b *Broker) Received(ctx context.Context, s sessions.Session, typed string) (mail.Message, error) {
	id, err := b.MessageID(ctx, typed)
	if errors.Is(err, ErrNoMessage) {
		id, err = typed, nil
	}
	if err != nil {
		return mail.Message{}, err
	}
	own, others, err := b.withID(ctx, s, id)
	if err == nil && len(own)+len(others) == 0 {
		others, err = b.Events.Sent(id)
	}
	if len(own) == 0 {
		own = others
	}
	switch {
	case len(own) == 0 && err != nil:
		return mail.Message{}, fmt.Errorf("find message %q: %w", id, err)
	case len(own) == 0:
		return mail.Message{}, fmt.Errorf("message %q: %w", typed, ErrNoMessage)
	case len(own) > 1:
		return mail.Message{}, &SeveralError{"have the id " + id, own}
	}
	return own[0], nil
}

// withID finds the messages with this id, and returns at most one of each sender in each list. The
// list own has those in the session's mailbox that other sessions wrote; the list others has all
// other messages.
func (b *Broker) withID(ctx context.Context, s sessions.Session, id string) (own, others []mail.Message, err error) {
	seen := map[string]bool{}
	err = b.search(ctx, everywhere(sessions.WithIDs(map[string]bool{id: true})), func(sid string, found inbox.Found) {
		m := found.Message
		place, list := "", &others
		if sid == s.ID && sessions.Fold(m.From) != sessions.Fold(s.Alias) {
			place, list = "own", &own
		}
		if key := place + "\x00" + sessions.Fold(m.From); !seen[key] {
			seen[key] = true
			*list = append(*list, m)
		}
	})
	return own, others, err
}

// SeveralError says that several messages match, and that the user must name one of them by its id.
type SeveralError struct {
	What    string // the rest of a sentence that begins "3 messages", such as "have the id x"
	Matches []mail.Message
}

func (e *SeveralError) Error() string {
	return fmt.Sprintf("%d messages %s: %s", len(e.Matches), e.What, named(e.Matches, mail.ShortID))
}

// LastReceived returns the message that was last handed over to a session. If messages of several
// senders were handed over together, the error is a *SeveralError.
func (b *Broker) LastReceived(ctx context.Context, s sessions.Session) (mail.Message, error) {
	box, err := b.Mailbox(s.ID)
	if err != nil {
		return mail.Message{}, err
	}
	const looked = 50
	all, err := box.Archive().History(ctx, looked)
	if err != nil {
		return mail.Message{}, err
	}
	var last []mail.Message
	at := 0.0
	for _, h := range all {
		if h.From == sessions.SystemAlias || sessions.Fold(h.From) == sessions.Fold(s.Alias) {
			continue
		}
		if len(last) > 0 && h.DrainedAt != at {
			break
		}
		last, at = append(last, h.Message), h.DrainedAt
	}
	for _, m := range last {
		if sessions.Fold(m.From) != sessions.Fold(last[0].From) {
			return mail.Message{}, &SeveralError{"came together", last}
		}
	}
	if len(last) == 0 {
		return mail.Message{}, fmt.Errorf("answer the last message: %w: nothing was handed over to %s yet", ErrNoMessage, s.Alias)
	}
	return last[0], nil
}
