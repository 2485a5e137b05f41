package broker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"c2c/broker/explain"
	"c2c/broker/notice"
	"c2c/inbox"
	"c2c/inbox/fields"
	"c2c/inbox/finder"
	"c2c/inbox/mail"
	"c2c/sessions"
)

// Mail is a message and what became of it.
type Mail struct {
	mail.Message
	Status explain.MessageStatus
}

// MarshalJSON writes the message with its state, when it came into that, and by whom.
func (m Mail) MarshalJSON() ([]byte, error) {
	b, err := m.Message.MarshalJSON()
	if err != nil {
		return nil, err
	}
	at, err := m.Status.At.MarshalText()
	b = fmt.Appendf(b[:len(b)-1], `,"state":%q,"at":%q`, m.Status.State, at)
	if m.Status.By != "" {
		b = fields.AppendText(append(b, `,"by":`...), m.Status.By) // others write archives, too
	}
	return append(b, '}'), err
}

// collector gathers messages from many mailboxes. One that a crash or a move has left in two places is there once.
type collector struct {
	b    *Broker
	all  []inMailbox
	seen map[string]bool
}

// inMailbox is a message in the mailbox of a session.
type inMailbox struct {
	inbox.Found
	sid string
}

func (b *Broker) collector() *collector { return &collector{b: b, seen: map[string]bool{}} }

func (c *collector) add(sid string, found inbox.Found) {
	key := notice.MessageKey(found.Message)
	if c.seen[key] {
		return
	}
	c.seen[key] = true
	c.all = append(c.all, inMailbox{found, sid})
}

// newest gives at most so many, newest first. For the state of a message the facts of its receiver are read, so it is found
// out for these alone.
func (c *collector) newest(limit int) (all []Mail) {
	sort.SliceStable(c.all, func(i, j int) bool { return c.all[i].Message.TS > c.all[j].Message.TS })
	for _, m := range c.all[:min(len(c.all), limit)] {
		all = append(all, Mail{m.Message, explain.Status(c.b.Registry, m.Message.ID, m.sid, m.Found)})
	}
	return all
}

// Outbox gives the newest messages that a session has sent and that are kept, newest first: no ephemeral ones that were
// read, and none that were pruned. The error says what could not be looked into; the rest is there all the same.
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

// Search gives the newest messages that have all these words, newest first: of those that a session has sent and
// received, or of all when it is the person's. A word may be an alias, and its case does not count.
func (b *Broker) Search(ctx context.Context, s sessions.Session, words []string, limit int) ([]Mail, error) {
	rows, err := b.Rows(ctx)
	if err != nil {
		return nil, err
	}
	var wanted []string
	for _, word := range words {
		wanted = append(wanted, strings.Fields(strings.ToLower(word))...)
	}
	has := func(m mail.Message) bool {
		text := strings.ToLower(m.From + " " + m.To + " " + m.Content)
		return !slices.ContainsFunc(wanted, func(word string) bool { return !strings.Contains(text, word) })
	}
	received := inbox.Query{Holds: mayHaveWord(wanted), Match: has, Limit: limit}
	sent := b.Authors(rows).WrittenBy(s, limit)
	own, names := sent.Match, sent.Holds
	sent.Match = func(m mail.Message) bool { return has(m) && own(m) }
	sent.Holds = func(data []byte) bool { return received.Holds(data) && names(data) } // the word is the rarer
	found := b.collector()
	err = b.search(ctx, func(sid string) inbox.Query {
		if sid == s.ID || s.State == sessions.Person {
			return received
		}
		return sent
	}, found.add)
	return found.newest(limit), err
}

// mayHaveWord looks for the longest word that is the same in each writer's JSON, but for the case.
func mayHaveWord(words []string) func(data []byte) bool {
	longest := ""
	for _, word := range words {
		if strings.Trim(word, "abcdefghijklmnopqrstuvwxyz0123456789-_.") == "" && len(word) > len(longest) {
			longest = word
		}
	}
	return finder.AnyCase(longest).In
}

// maxThread bounds a conversation, in messages: anybody can send thousands that answer one.
const maxThread = 1000

// Thread gives the conversation of a message, in all mailboxes, oldest first: what it answers, the answers to it, the
// answers to those. more says that there are others. typed is as in MessageID. The error says what could not be looked
// into; the rest is there all the same.
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

// links are the ids that answer or are answered by an id.
type links map[string][]string

// add keeps what a message answers. It has seen enough of the message then.
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

// addLines records which messages the messages of a file answer, as far as that can be seen without parsing them. It says
// whether some have to be parsed.
func (l links) addLines(file []byte) (others bool) { return mail.EachLink(file, l.link) }

// around gives the ids that an id is linked with, the nearest ones when there are too many. A circle of answers, which
// only a hostile sender makes, is gone through once.
func (l links) around(id string, most int) (ids map[string]bool, more bool) {
	ids = map[string]bool{id: true}
	for next := []string{id}; len(next) > 0; next = next[1:] {
		for _, other := range l[next[0]] {
			switch {
			case ids[other]:
			case len(ids) == most:
				return ids, true
			default:
				ids[other] = true
				next = append(next, other)
			}
		}
	}
	return ids, false
}
