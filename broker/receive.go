package broker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"c2c/broker/moves"
	"c2c/broker/owed"
	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/sessions"
)

// ErrBlocked says that a mailbox takes no mail, because a file that is not ours has the name of one
// of the mailbox's files. A person must remove that file.
var ErrBlocked = errors.New("the mailbox is blocked")

// Receive stores messages that sessions of another host have sent to an alias of this root, in
// their order and in one commit. It believes the sender and the hop count in the messages, because
// the other host has proved its identity to the caller. The result sid is the session of the alias.
// If mayRepeat is set, the mailbox may have some of the messages already: Receive finds these by
// their ids, and does not store them again. Errors: *UnknownAliasError, ErrBlocked, and those of
// inbox.Mailbox.Deliver. When Receive returns nil, the messages survive a power cut.
func Receive(ctx context.Context, b *Broker, alias string, msgs []mail.Message, mayRepeat bool) (sid string, err error) {
	rows, err := b.Rows(ctx)
	if err != nil {
		return "", err
	}
	to := b.Receiver(rows, alias)
	if to == nil || sessions.Fold(alias) == sessions.SystemAlias {
		return "", sessions.UnknownAlias(b.Registry, rows, alias)
	}
	return to.SID(), receive(ctx, b, to, "", msgs, mayRepeat)
}

// ReceiveFromRoom is Receive for posts in a room of the other host. The member in this root is
// named by its session sid, not by its alias; see SendFromRoom.
func ReceiveFromRoom(ctx context.Context, b *Broker, sid, room string, msgs []mail.Message, mayRepeat bool) error {
	rows, err := b.Rows(ctx)
	if err != nil {
		return err
	}
	i := sessions.FindSID(rows, sid)
	if i < 0 {
		return fmt.Errorf("session %q of a member: %w", sid, sessions.ErrNoSession)
	}
	return receive(ctx, b, rows[i], room, msgs, mayRepeat)
}

func receive(ctx context.Context, b *Broker, to sessions.Row, room string, msgs []mail.Message, mayRepeat bool) error {
	box, err := b.Mailbox(to.SID())
	if err != nil {
		return err
	}
	reader := b.Session(to)
	for i := range msgs {
		m := &msgs[i]
		m.To, m.ToAbsent = to.Alias(), reader.State == sessions.Absent
		if room != "" {
			m.To += "#" + room
		}
		if _, isOurs := mail.ProjectOfSession(m.FromSession); !isOurs {
			m.KnownBy = mail.ByHost // what the other host says of its own sessions proves nothing here
		}
		m.StartedBy = ""
		if err := ResumeFromHost(b.Registry, to.SID(), *m); err != nil { // a reader of m must find the held mail released
			b.Log.Warn("two sessions are still held, though a person has let them go on", "message_id", m.ID, "err", err)
		}
	}
	put := box.Deliver
	if !mayRepeat {
		put = func(ctx context.Context, msgs ...mail.Message) (inbox.Stored, error) {
			return inbox.DeliverNew(ctx, box, msgs...)
		}
	}
	stored, err := owed.Deliver(ctx, b.Registry, to.SID(), put, msgs...)
	if inbox.IsBlocked(err) {
		err = fmt.Errorf("%w: %w", ErrBlocked, err)
	}
	if err != nil {
		return err // the callers say for whom it is
	}
	for i, m := range stored.Messages {
		from := sessions.Session{Alias: m.From}
		if r := sessions.Elsewhere(m); r != nil {
			from.ID = r.SID() // of the outbox, which has what sessions there owe
		}
		s := &sending{b: b, from: from, to: to, reader: reader, box: box, message: m, again: stored.Already[i]}
		s.record(ctx, m.Held != "")
	}
	moves.Forward(ctx, b.Registry, to.SID(), to.Alias())
	return nil
}

// TellRefused makes a dead letter of a message in the outbox sid that another machine or project
// refuses permanently, and tells the sender the reason, once. If the sender's mailbox does not take
// the notice, the dead letter says it alone.
func TellRefused(ctx context.Context, b *Broker, sid string, m mail.Message, why string) error {
	rows, err := b.Rows(ctx)
	if err != nil {
		return err
	}
	if err := owed.AddDead(ctx, b.Registry, sid, owed.DeadLetter{Reason: why, Message: m}); err != nil {
		return err
	}
	owed.CloseMessages(ctx, b.Registry, sid, sessions.Dead, []mail.Message{m})
	from := b.Authors(rows).Of(m)
	if from == nil {
		return nil // the sender is gone, and no session has its alias
	}
	if told, err := owed.ToldOf(ctx, b.Registry, rows, m); err == nil && slices.ContainsFunc(told, func(t owed.Told) bool { return t.Reason == owed.Expired }) {
		return nil // the sender was told when the message expired here
	}
	err = owed.TellTogether(ctx, b.Registry, from, []owed.News{{Message: m, Reason: owed.NotStored, Why: why}})
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, inbox.ErrFull) || inbox.IsBlocked(err) { // otherwise all other mail would wait, too
		b.Log.Warn("a sender was not told that its message was refused", "message_id", m.ID, "err", err)
		err = nil
	}
	return err
}
