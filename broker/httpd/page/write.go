package page

import (
	"cmp"
	"net/http"
	"strings"

	"c2c/broker"
	"c2c/inbox"
)

// draft is what the person has written. ID is chosen by the page, so that a draft that is sent again because no answer came
// is one message.
type draft struct {
	ID      string `json:"id"`
	To      string `json:"to"`      // an alias; of an answer nothing
	Answers string `json:"answers"` // the id of a message, with its key
	Key     string `json:"key"`
	Text    string `json:"text"`
	Kind    string `json:"kind"`
	Tag     string `json:"tag"`
}

// receipt says that the message is on the disk of its receiver, and no more.
type receipt struct {
	ID    string `json:"id"`
	To    string `json:"to"`
	Note  string `json:"note,omitempty"` // what keeps its receiver from reading it at once
	Again bool   `json:"again,omitempty"`
}

func (c *call) draft() (d draft, err error) {
	if err := readJSON(c.r, &d); err != nil {
		return d, refusal{http.StatusBadRequest, err}
	}
	if strings.TrimSpace(d.Text) == "" {
		return d, wrong("there is nothing to send")
	}
	if !inbox.IsUUID(d.ID) {
		return d, wrong("id: want a UUID")
	}
	return d, nil
}

func (d draft) message() inbox.Message {
	kind := d.Kind
	if kind == "message" {
		kind = ""
	}
	return inbox.Message{To: d.To, Content: d.Text, Kind: kind, Tag: d.Tag, ID: d.ID}
}

func receiptOf(r broker.Receipt) receipt {
	return receipt{ID: r.ID, To: visible(r.To), Note: visible(r.Note), Again: r.Duplicate}
}

// send sends the person's message to an alias.
func (p *Page) send(c *call) (any, error) {
	d, err := c.draft()
	if err != nil {
		return nil, err
	}
	me, err := c.me()
	if err != nil {
		return nil, err
	}
	r, err := c.b().Send(c, me, d.message())
	if err != nil {
		return nil, err
	}
	return receiptOf(r), nil
}

// reply answers a message: whoever wrote it, whatever that is called now.
func (p *Page) reply(c *call) (any, error) {
	d, err := c.draft()
	if err != nil {
		return nil, err
	}
	me, err := c.me()
	if err != nil {
		return nil, err
	}
	all, err := c.b().Mails(c, d.Answers)
	if err != nil {
		return nil, err
	}
	answered := all[0]
	for _, one := range all {
		if keyOf(one.Trace()) == d.Key {
			answered = one
		}
	}
	r, err := c.b().Reply(c, me, answered.Message, d.message())
	if err != nil {
		return nil, err
	}
	return receiptOf(r), nil
}

// read takes those messages of the person's own mail that the page has shown. What has come meanwhile waits.
func (p *Page) read(c *call) (any, error) {
	var asked struct {
		Keys []string `json:"keys"`
	}
	if err := readJSON(c.r, &asked); err != nil {
		return nil, refusal{http.StatusBadRequest, err}
	}
	me, err := c.me()
	if err != nil {
		return nil, err
	}
	box, err := c.b().Mailbox(me.ID)
	if err != nil {
		return nil, err
	}
	shown := map[string]bool{}
	for _, key := range asked.Keys {
		shown[key] = true
	}
	l, err := box.LeaseOnly(c, "page", func(m inbox.Message) bool { return shown[keyOf(m.Trace())] })
	if err != nil {
		return nil, err
	}
	err = l.Ack(c, inbox.Handles(l.Messages)...)
	return map[string]int{"read": len(l.Messages)}, cmp.Or(err, nil)
}
