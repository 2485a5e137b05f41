package broker

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/sessions"
)

// maxChat is the maximum number of messages with one chat id that are read to find the senders.
const maxChat = 200

// ReceivedInChat finds the messages from outside in the session's mailbox that have this chat id,
// and returns the newest. If several senders have used the chat id, the error is a *SeveralError,
// because a sender may choose the chat id of another sender.
func (b *Broker) ReceivedInChat(ctx context.Context, s sessions.Session, chatID string) (mail.Message, error) {
	if err := mail.CheckWord("chat id", chatID); err != nil {
		return mail.Message{}, err
	}
	box, err := b.Mailbox(s.ID)
	if err != nil {
		return mail.Message{}, err
	}
	found, err := box.Search(ctx, inbox.Query{
		Holds: func(data []byte) bool { return bytes.Contains(data, []byte(`"outside"`)) },
		Match: func(m mail.Message) bool {
			o, ok := m.Origin()
			return ok && m.External && chatID != "" && o.ChatID == chatID
		},
		Limit: maxChat,
	})
	if err != nil {
		return mail.Message{}, err
	}
	var senders []mail.Message // one message of each sender
	seen := map[string]bool{}
	newest := mail.Message{}
	for _, f := range found {
		m := f.Message
		if m.TS > newest.TS || newest.From == "" {
			newest = m
		}
		if !seen[sessions.Fold(m.From)] {
			seen[sessions.Fold(m.From)] = true
			senders = append(senders, m)
		}
	}
	switch len(senders) {
	case 0:
		return mail.Message{}, fmt.Errorf("chat %q: %w from outside", chatID, ErrNoMessage)
	case 1:
		return newest, nil
	}
	// The error begins with a number: "2 messages of several senders ...".
	return mail.Message{}, &SeveralError{"of several senders outside have the chat id " + chatID, senders}
}

// ReplyExternal is Reply for a message from outside. It attaches o.Files to the answer. If o.Edits
// is set, the answer replaces an earlier answer of the session to the same sender; o.Edits is the
// id of that answer, or a part of the id.
func (b *Broker) ReplyExternal(ctx context.Context, from sessions.Session, answered, m mail.Message, o mail.Origin) (Receipt, error) {
	short := mail.ShortID(answered.ID)
	if !answered.External {
		return Receipt{}, fmt.Errorf("message %s is from a session of this machine: files and edits are for senders outside", short)
	}
	if o.Edits != "" {
		id, err := b.edited(ctx, from, answered, o.Edits)
		if err != nil {
			return Receipt{}, fmt.Errorf("edit %q: %w", o.Edits, err)
		}
		o.Edits = id
	}
	if err := m.SetOrigin(o); err != nil {
		return Receipt{}, fmt.Errorf("answer message %s: %w", short, err)
	}
	return b.Reply(ctx, from, answered, m)
}

var errNotOwnAnswer = errors.New("it is not an answer that you sent to this sender")

// edited returns the whole id for typed, an id or a part of one. The message with this id must be
// an answer that the session has sent to the sender of the message answered.
func (b *Broker) edited(ctx context.Context, from sessions.Session, answered mail.Message, typed string) (id string, err error) {
	if id, err = b.MessageID(ctx, typed); err != nil {
		return "", err
	}
	rows, err := b.Rows(ctx)
	if err != nil {
		return "", err
	}
	authors := b.Authors(rows)
	to := authors.Of(answered)
	if to == nil {
		return "", sessions.UnknownAlias(b.Registry, rows, answered.From)
	}
	box, err := b.Mailbox(to.SID())
	if err != nil {
		return "", err
	}
	found, err := box.FindAll(ctx, id)
	if err != nil {
		return "", err
	}
	for _, f := range found {
		if authors.Wrote(from.ID, f.Message) {
			return id, nil
		}
	}
	return "", errNotOwnAnswer
}
