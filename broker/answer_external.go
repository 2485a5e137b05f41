package broker

import (
	"bytes"
	"context"
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
