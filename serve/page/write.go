package page

import (
	"fmt"
	"slices"
	"strings"

	"c2c/broker"
	"c2c/broker/notify"
	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/sessions"
)

// draft is what the person has written. The page chooses ID, so that a draft that it sends again, because no answer came,
// stays one message.
type draft struct {
	ID      string `json:"id"`
	To      string `json:"to"`      // an alias; empty for an answer
	Answers string `json:"answers"` // the id of a message, with its key
	Key     string `json:"key"`
	Text    string `json:"text"`
	Kind    string `json:"kind"`
	Tag     string `json:"tag"`
}

// receipt confirms that the message is in its receiver's mailbox on disk, and no more.
type receipt struct {
	ID    string `json:"id"`
	To    string `json:"to"`
	Note  string `json:"note,omitempty"` // why its receiver may not read it at once
	Again bool   `json:"again,omitempty"`
}

// draft parses what the person has written, and gives the person's session.
func (c *call) draft() (d draft, me sessions.Session, err error) {
	if err := c.body(&d); err != nil {
		return d, me, err
	}
	if strings.TrimSpace(d.Text) == "" {
		return d, me, wrong("there is nothing to send")
	}
	if !mail.IsUUID(d.ID) {
		return d, me, wrong("id: want a UUID")
	}
	me, err = c.me()
	return d, me, err
}

func (d draft) message() mail.Message {
	kind := d.Kind
	if kind == "message" {
		kind = ""
	}
	return mail.Message{To: d.To, Content: d.Text, Kind: kind, Tag: d.Tag, ID: d.ID}
}

func receiptOf(r broker.Receipt, err error) (any, error) {
	return receipt{ID: r.ID, To: visible(r.To), Note: visible(r.Note), Again: r.Duplicate}, err
}

// send sends the person's message to an alias.
func (p *Page) send(c *call) (any, error) {
	d, me, err := c.draft()
	if err != nil {
		return nil, err
	}
	return receiptOf(c.b().Send(c, me, d.message()))
}

// reply answers a message. It finds the writer even under a new alias. The person has read the answered message.
func (p *Page) reply(c *call) (any, error) {
	d, me, err := c.draft()
	if err != nil {
		return nil, err
	}
	answered, err := c.found(d.Answers, d.Key)
	if err != nil {
		return nil, err
	}
	r, err := c.b().Reply(c, me, answered.Message, d.message())
	if err == nil && answered.Status.SessionID == me.ID {
		if _, err := c.take(me, keyOf(answered.Fingerprint())); err != nil {
			r.Note = fmt.Sprintf("What it answers could not be marked as read: %v", err)
		}
	}
	return receiptOf(r, err)
}

// notify has the person told once, by a message, when a session is idle, blocked, done or has ended. If it is so now, the answer says
// it.
func (p *Page) notify(c *call) (any, error) {
	var asked struct {
		Alias string `json:"alias"`
		When  string `json:"when"`
	}
	if err := c.body(&asked); err != nil {
		return nil, err
	}
	me, err := c.me()
	if err != nil {
		return nil, err
	}
	_, now, err := notify.Ask(c, c.b().Registry, me, asked.Alias, asked.When, false)
	if now == nil {
		now = new(notify.News)
	}
	return map[string]string{"became": now.Became, "text": visible(now.Text)}, err
}

// read marks as read the person's own messages that the page has shown. Newer messages wait.
func (p *Page) read(c *call) (any, error) {
	var asked struct {
		Keys []string `json:"keys"`
	}
	if err := c.body(&asked); err != nil {
		return nil, err
	}
	me, err := c.me()
	if err != nil {
		return nil, err
	}
	n, err := c.take(me, asked.Keys...)
	return map[string]int{"read": n}, err
}

// take marks the person's waiting messages with these keys as read, and returns how many it has marked.
func (c *call) take(me sessions.Session, keys ...string) (n int, err error) {
	box, err := c.b().Mailbox(me.ID)
	if err != nil {
		return 0, err
	}
	l, err := box.LeaseOnly(c, "page", func(m mail.Message) bool { return slices.Contains(keys, keyOf(m.Fingerprint())) })
	if err != nil {
		return 0, err
	}
	return len(l.Messages), l.Ack(c, inbox.Handles(l.Messages)...)
}
