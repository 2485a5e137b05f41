package broker

import (
	"context"
	"errors"
	"fmt"

	"c2c/broker/owed"
	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/sessions"
)

// ErrNoMessage says that no mailbox, archive or dead letter has the id.
var ErrNoMessage = errors.New("no such message")

// Status returns the status of a message. The argument typed is as in MessageID. If several senders
// chose the same id, the field Others has the status of the further messages. If no message is
// found, the error is ErrNoMessage. An ephemeral message that was read is found only if its sender
// chose the id.
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

// Mails returns the messages with this id, usually one. The id must not be shortened. If there is
// none, the error is ErrNoMessage.
func (b *Broker) Mails(ctx context.Context, id string) (all []Mail, err error) {
	if all, err = b.withWay(ctx, id); err == nil && len(all) == 0 {
		err = fmt.Errorf("message %q: %w", id, ErrNoMessage)
	}
	return all, err
}

func (b *Broker) withWay(ctx context.Context, id string) (all []Mail, err error) {
	sids, err := b.Mailboxes(ctx)
	if err != nil {
		return nil, err
	}
	latest := b.collector()
	var unread []error // errors of unreadable mailboxes; reported if no message is found, because it may be in one of them
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
			latest.add(sid, st)
		}
		// If FromSession is empty, c2c made this id, so no other message has it. What was not
		// answered may have been put back elsewhere.
		if len(found) == 1 && found[0].Message.FromSession == "" && !sessions.Unanswered(b.Registry, sid, found[0]) {
			break
		}
	}
	for _, m := range latest.all {
		all = append(all, b.mailOf(ctx, m.sid, m.Found))
	}
	dead, err := owed.DeadLetters(b.Registry)
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

// mailOf returns the message found, which is in the mailbox of the session sid, with all that is
// known about it.
func (b *Broker) mailOf(ctx context.Context, sid string, found inbox.Found) Mail {
	s := b.registered(ctx, sid)
	if s != nil && sessions.Unanswered(b.Registry, sid, found) {
		sessions.LookForAnswer(b.Registry, *s)
	}
	st := StatusOf(b.Registry, found.Message.ID, sid, found)
	st = b.owed(ctx, found.Message, st)
	CompleteStatus(b.Registry, &st, found.Message, s)
	return Mail{found.Message, st}
}

// sentLately finds a message by the id that a send printed. The end of broker.log names the
// receiver, so sentLately reads only one mailbox. It takes the same time in a root with many
// sessions as in one with few. If it returns false, its caller searches all mailboxes: the mail may
// have moved, and an id that a sender chose may be in several mailboxes.
func (b *Broker) sentLately(ctx context.Context, typed string) (m Mail, ok bool) {
	if !mail.IsUUID(typed) && (len(typed) != mail.ShortLen || !mail.LooksLikeID(typed)) {
		return m, false
	}
	sent, err := b.Events.SentLately(typed)
	if err != nil || len(sent) != 1 {
		return m, false
	}
	rows, err := b.Rows(ctx)
	to := sessions.Holders(rows, sent[0].To)
	if err != nil || len(to) != 1 {
		return m, false
	}
	box, err := b.Mailbox(to[0].SID())
	if err != nil {
		return m, false
	}
	found, err := box.Find(ctx, sent[0].ID)
	if err != nil || len(found) != 1 || found[0].Message.FromSession != "" || sessions.Fold(found[0].Message.From) != sessions.Fold(sent[0].From) {
		return m, false
	}
	return b.mailOf(ctx, to[0].SID(), found[0]), true
}

func (b *Broker) deadStatus(ctx context.Context, id string, d owed.DeadLetter) MessageStatus {
	st := MessageStatus{ID: id, State: sessions.Dead, At: mail.FromSeconds(d.DeletedAt).UTC(), SessionID: d.SessionID,
		From: d.Message.From, To: d.Message.To, Reason: d.Reason}
	if d.Reason == owed.Expired {
		st.State, st.Reason = owed.Expired, ""
		if at := mail.FromSeconds(d.Message.ExpiresAt).UTC(); d.Message.ExpiresAt > 0 && at.Before(st.At) { // DeletedAt is when c2c noticed that
			st.At = at
		}
	}
	st = b.owed(ctx, d.Message, st)
	CompleteStatus(b.Registry, &st, d.Message, nil)
	return st
}

// registered returns the session sid, or nil if it is not registered.
func (b *Broker) registered(ctx context.Context, sid string) *sessions.Session {
	rows, err := b.Rows(ctx)
	i := sessions.FindSID(rows, sid)
	if err != nil || i < 0 {
		return nil
	}
	s := b.Session(rows[i])
	return &s
}

// owed adds to the status st the deadlines of the message m, and the notices to its sender.
func (b *Broker) owed(ctx context.Context, m mail.Message, st MessageStatus) MessageStatus {
	st.Asked = owed.AskedOf(m)
	if m.ExpiresAt != 0 {
		st.ExpiresAt = mail.FromSeconds(m.ExpiresAt).UTC()
	}
	if opens := owed.OpensAt(b.Registry, st.SessionID, m); !opens.IsZero() && st.State == sessions.Queued {
		st.NotBefore, st.Held = opens.UTC(), m.Held != ""
	}
	rows, err := b.Rows(ctx)
	if err == nil && m.From != sessions.SystemAlias {
		st.Told, err = owed.ToldOf(ctx, b.Registry, rows, m)
	}
	if err != nil {
		b.Log.Warn("notices to the sender could not be read", "message_id", m.ID, "err", err)
	}
	return st
}
