package broker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"c2c/broker/owed"
	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/internal/fields"
	"c2c/sessions"
)

// Mail is a message and its state.
type Mail struct {
	mail.Message
	Status MessageStatus
}

// MarshalJSON writes the message with its state, the times At and HandedAt of its MessageStatus,
// the reader or the method, and the room.
func (m Mail) MarshalJSON() ([]byte, error) {
	b, err := m.Message.MarshalJSON()
	if err != nil {
		return nil, err
	}
	at, err := m.Status.At.MarshalText()
	b = fmt.Appendf(b[:len(b)-1], `,"state":%q,"at":%q`, m.Status.State, at)
	if h, _ := m.Status.HandedAt.MarshalText(); !m.Status.HandedAt.IsZero() { // if this fails, At, which is later, has failed, too
		b = fmt.Appendf(b, `,"handed_at":%q`, h)
	}
	if m.Status.By != "" {
		b = fields.AppendText(append(b, `,"by":`...), m.Status.By) // escaped, because other programs write archives, too
	}
	if room := mail.RoomOf(m.To); room != "" {
		b = fields.AppendText(append(b, `,"room":`...), room)
	}
	return append(b, '}'), err
}

// collector gathers messages from many mailboxes. It keeps one copy of a message that a crash or a
// move has left in two places; if the message was put back (inbox.Mailbox.PutBack), it keeps the
// latest copy.
type collector struct {
	b    *Broker
	all  []inMailbox
	seen map[string]int // places in all
}

// inMailbox is a message in the mailbox of a session.
type inMailbox struct {
	inbox.Found
	sid string
}

func (b *Broker) collector() *collector { return &collector{b: b, seen: map[string]int{}} }

func (c *collector) add(sid string, found inbox.Found) {
	first := found.Message
	first.ShownAt = 0
	key := owed.MessageKey(first)
	i, there := c.seen[key]
	switch {
	case !there:
		c.seen[key] = len(c.all)
		c.all = append(c.all, inMailbox{found, sid})
	case found.Message.ShownAt > c.all[i].Message.ShownAt:
		c.all[i] = inMailbox{found, sid}
	}
}

// newest returns at most limit messages, newest first. It finds out the states of these messages
// only, because for a state it must read the facts of the receiver.
func (c *collector) newest(limit int) (all []Mail) {
	sort.SliceStable(c.all, func(i, j int) bool { return c.all[i].Message.TS > c.all[j].Message.TS })
	states := NewLister(c.b.Registry)
	for _, m := range c.all[:min(len(c.all), limit)] {
		all = append(all, Mail{m.Message, states.Status(m.Message.ID, m.sid, m.Found)})
	}
	return all
}

// Outbox returns the newest messages that a session has sent, newest first. It finds no pruned
// messages, and no ephemeral messages that were read. The error lists the mailboxes that could not
// be read; the messages of all others are returned all the same.
func (b *Broker) Outbox(ctx context.Context, s sessions.Session, limit int) ([]Mail, error) {
	rows, err := b.Rows(ctx)
	if err != nil {
		return nil, err
	}
	own := b.Authors(rows)
	sent := b.collector()
	err = b.search(ctx, everywhere(own.WrittenBy(s, limit)), sent.add)
	return sent.newest(limit), err
}

// Search returns the newest messages that contain all the words, newest first. For a person it
// searches all messages, for any other caller only those that the session has sent or received. A
// word may also be in the aliases of sender and receiver. Case does not count.
func (b *Broker) Search(ctx context.Context, s sessions.Session, words []string, limit int) ([]Mail, error) {
	rows, err := b.Rows(ctx)
	if err != nil {
		return nil, err
	}
	wanted := mail.SearchWords(words)
	has := func(m mail.Message) bool {
		return !isCopyOfPost(m) && mail.HasAllWords(m.From+" "+m.To+" "+m.Content, wanted)
	}
	received := inbox.Query{Holds: mail.MayHaveWords(wanted), Match: has, Limit: limit}
	sent := b.Authors(rows).WrittenBy(s, limit)
	own, names := sent.Match, sent.Holds
	sent.Match = func(m mail.Message) bool { return has(m) && own(m) }
	sent.Holds = func(data []byte) bool { return received.Holds(data) && names(data) } // the words come first, because they are rarer
	found := b.collector()
	err = b.search(ctx, func(sid string) inbox.Query {
		if sid == s.ID || s.IsProvenPerson() {
			return received
		}
		return sent
	}, found.add)
	return found.newest(limit), err
}

// isCopyOfPost reports whether the message carries a post of a room to another machine. Such a copy
// is left out, because "c2c search" finds the post itself in the room.
func isCopyOfPost(m mail.Message) bool {
	return m.Kind == mail.KindSystem && strings.HasPrefix(m.To, "#")
}

// maxThread bounds the messages of a conversation: any sender can send thousands of answers to one
// message.
const maxThread = 1000

// Thread returns the conversation to which a message belongs, from all mailboxes, oldest first: the
// message that it answers, the answers to it, the answers to these answers, and so on. The result
// more is true if some messages are left out. The argument typed is as in MessageID. The error
// lists the mailboxes that could not be read; the messages of all others are returned all the same.
func (b *Broker) Thread(ctx context.Context, typed string) (all []Mail, more bool, err error) {
	id, err := b.MessageID(ctx, typed)
	if err != nil {
		return nil, false, err
	}
	links := links{}
	unread := b.search(ctx, everywhere(inbox.Query{Holds: links.addLines, Match: links.add, Limit: 1}), nil)
	ids, more := links.around(id, maxThread)
	found := b.collector()
	unread = errors.Join(unread, b.search(ctx, everywhere(sessions.WithIDs(ids)), found.add))
	more = more || len(found.all) > maxThread
	all = found.newest(maxThread)
	slices.Reverse(all)
	if len(all) == 0 && unread == nil {
		unread = fmt.Errorf("message %q: %w", typed, ErrNoMessage)
	}
	return all, more, unread
}

// links maps the id of a message to the ids of its answers, and to the id of the message that it
// answers.
type links map[string][]string

// add records that m answers another message. It returns false, because search need not keep m.
func (l links) add(m mail.Message) (wanted bool) {
	l.link(m.ID, m.InReplyTo)
	return false
}

func (l links) link(id, answers string) {
	if answers != "" && len(l[id]) < maxThread && !slices.Contains(l[id], answers) {
		l[id] = append(l[id], answers)
		l[answers] = append(l[answers], id)
	}
}

// addLines finds which messages in a file of mail answer which, and records that in l. It parses no
// message. The result others is true if this was not enough for some messages, which must be
// parsed.
func (l links) addLines(file []byte) (others bool) { return mail.EachLink(file, l.link) }

// around returns the ids that are linked with an id, directly or through others. If there are more
// than limit, it returns the nearest ones. It visits each id once, because a hostile sender may
// make a circle of answers.
func (l links) around(id string, limit int) (ids map[string]bool, more bool) {
	ids = map[string]bool{id: true}
	for next := []string{id}; len(next) > 0; next = next[1:] {
		for _, other := range l[next[0]] {
			switch {
			case ids[other]:
			case len(ids) == limit:
				return ids, true
			default:
				ids[other] = true
				next = append(next, other)
			}
		}
	}
	return ids, false
}
