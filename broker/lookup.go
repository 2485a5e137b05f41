package broker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"c2c/broker/owed"
	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/sessions"
)

// named lists up to five messages for a person. The function shown returns the text that stands for
// an id.
func named(msgs []mail.Message, shown func(id string) string) string {
	const most = 5
	var names []string
	for _, m := range msgs[:min(len(msgs), most)] {
		names = append(names, fmt.Sprintf("%s (%s to %s: %q)", shown(m.ID), m.From, m.To, m.FirstWords(40)))
	}
	text := strings.Join(names, ", ")
	if more := len(msgs) - len(names); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// MessageID returns the whole id for a text that a user typed: a whole id, or at least
// mail.ShortLen characters of its beginning or end. A UUID is returned without a search. The error
// is ErrNoMessage if no kept message has such an id; another one lists the messages if several have.
func (b *Broker) MessageID(ctx context.Context, typed string) (string, error) {
	if err := sessions.CheckID(typed); err != nil {
		return "", err
	}
	if mail.IsUUID(typed) {
		return typed, nil
	}
	isShown := func(id string) bool { return id == typed || mail.ShortID(id) == typed }
	matches, err := b.matches(ctx, inbox.Query{IDs: map[string]bool{typed: true}}, isShown)
	if err != nil || len(matches) == 0 {
		whole, some := mail.HoldsID(map[string]bool{typed: true}, nil), sessions.Holds(typed)
		matches, err = b.matches(ctx, inbox.Query{Holds: func(data []byte) bool { return some(data) || whole(data) }}, func(id string) bool {
			return id == typed || len(typed) >= mail.ShortLen && (strings.HasPrefix(id, typed) || strings.HasSuffix(id, typed))
		})
	}
	switch {
	case len(matches) == 0:
		return "", fmt.Errorf("message %q: %w", typed, cmp.Or(err, ErrNoMessage))
	case len(matches) == 1:
		return matches[0].ID, nil
	case slices.ContainsFunc(matches, func(m mail.Message) bool { return m.ID == typed }):
		return typed, nil
	}
	all := named(matches, func(id string) string { return id })
	return "", fmt.Errorf("%d messages have an id that begins or ends with %q: %s; type more of the id", len(matches), typed, all)
}

// answered returns the whole id of the message that a session answers. Usually the message is in
// the session's own mailbox, and then no other mailbox is read. If no mailbox has the message,
// broker.log may have its id. A UUID is returned without a search, as by MessageID.
func (b *Broker) answered(ctx context.Context, s sessions.Session, typed string) (string, error) {
	if typed == "" || mail.IsUUID(typed) {
		return typed, nil
	}
	if box, err := b.Mailbox(s.ID); err == nil {
		own, err := box.Search(ctx, inbox.Query{
			IDs:   map[string]bool{typed: true},
			Match: func(m mail.Message) bool { return m.ID == typed || mail.ShortID(m.ID) == typed }, Limit: 2, Wait: sessions.KeepWait,
		})
		if err == nil && len(own) == 1 {
			return own[0].Message.ID, nil
		}
	}
	id, err := b.MessageID(ctx, typed)
	if errors.Is(err, ErrNoMessage) {
		if sent, err := b.Events.Sent(typed); err == nil && len(sent) == 1 {
			return sent[0].ID, nil
		}
	}
	return id, err
}

// matches returns one message for each id that passes match, of the messages for which the query q
// searches. The error lists the mailboxes that could not be read.
func (b *Broker) matches(ctx context.Context, q inbox.Query, match func(id string) bool) (matches []mail.Message, err error) {
	seen := map[string]bool{}
	q.Match = func(m mail.Message) bool {
		if match(m.ID) && !seen[m.ID] && sessions.CheckID(m.ID) == nil {
			seen[m.ID], matches = true, append(matches, m)
		}
		return false // matches has it, so search need not keep it
	}
	q.Limit = math.MaxInt
	err = b.search(ctx, everywhere(q), nil)
	return matches, err
}

// search searches all mailboxes and the dead letters, and calls f for each message found. The
// function query returns the query for the mailbox of a session. The error lists the mailboxes that
// search could not read; it has read all others.
func (b *Broker) search(ctx context.Context, query func(sid string) inbox.Query, f func(sid string, found inbox.Found)) error {
	sids, err := b.Mailboxes(ctx)
	if err != nil {
		return err
	}
	dead, err := owed.DeadLetters(b.Registry)
	unread := []error{err}
	for _, d := range dead {
		if query(d.SessionID).Match(d.Message) {
			f(d.SessionID, inbox.Found{Where: inbox.DeadLetter, At: mail.FromSeconds(d.DeletedAt), Message: d.Message})
		}
	}
	for _, sid := range sids {
		box, err := b.Mailbox(sid)
		var found []inbox.Found
		if err == nil {
			q := query(sid)
			q.Wait = sessions.KeepWait // a stopped process may hold the lock of the mailbox
			found, err = box.Search(ctx, q)
		}
		unread = append(unread, err)
		for _, one := range found {
			f(sid, one)
		}
	}
	return errors.Join(unread...)
}

// everywhere returns a function for the argument query of search: it returns q for every mailbox.
func everywhere(q inbox.Query) func(sid string) inbox.Query {
	return func(string) inbox.Query { return q }
}
