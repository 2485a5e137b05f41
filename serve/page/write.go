package page

import (
	"fmt"
	"slices"
	"strings"

	"c2c/broker"
	"c2c/broker/owed"
	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/rooms"
	"c2c/sessions"
)

// draft is a message that the person has written. The page chooses the ID. If the page gets no
// answer, it may send the draft again: c2c still stores only one message.
type draft struct {
	ID      string `json:"id"`
	To      string `json:"to"`      // the receiver's alias; empty for an answer
	Answers string `json:"answers"` // the id of the answered message; Key is the key of the same message
	Key     string `json:"key"`
	Text    string `json:"text"`
	Kind    string `json:"kind"`
	Tag     string `json:"tag"`
	Room    string `json:"room"` // only for a post; then Answers is the id of a post
	Wake    bool   `json:"wake"` // the post wakes all members
}

// receipt confirms that the message is in the receiver's mailbox on disk, and nothing more.
type receipt struct {
	ID    string `json:"id"`
	To    string `json:"to"`
	Note  string `json:"note,omitempty"` // why the receiver may not read it at once
	Again bool   `json:"again,omitempty"`
}

// draft parses the person's message, and returns the person's session.
func (c *call) draft() (d draft, me sessions.Session, err error) {
	me, err = c.asks(&d)
	switch {
	case err != nil:
	case strings.TrimSpace(d.Text) == "":
		err = wrong("there is nothing to send")
	case !mail.IsUUID(d.ID):
		err = wrong("id: want a UUID")
	}
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

// reply answers a message. The answer goes to the session that wrote the message, even if the
// session has another alias now. If the message came from a room, the answer goes to the room. The
// answered message then counts as read.
func (p *Page) reply(c *call) (any, error) {
	d, me, err := c.draft()
	if err != nil {
		return nil, err
	}
	answered, err := c.found(d.Answers, d.Key)
	if err != nil {
		return nil, err
	}
	r, err := c.answer(me, answered.Message, d.message())
	if err == nil && answered.Status.SessionID == me.ID {
		if _, err := c.take(me, keyOf(answered.Fingerprint())); err != nil {
			r.Note = fmt.Sprintf("the answered message could not be marked as read: %v", err)
		}
	}
	return receiptOf(r, err)
}

// answer sends m as the answer to a message. If the message came from a room, answer posts m there.
func (c *call) answer(me sessions.Session, answered, m mail.Message) (broker.Receipt, error) {
	room := mail.RoomOf(answered.To)
	if room == "" {
		return c.b().Reply(c, me, answered, m)
	}
	r, err := rooms.ReplyToPost(c, c.b(), me, answered, rooms.Draft{Message: m})
	return broker.Receipt{ID: r.ID, To: "#" + r.Room, Note: r.String(), Duplicate: r.Duplicate}, err
}

// notify makes c2c send the person one message when a session is idle, blocked, done or has ended.
// If the session is in that state already, the HTTP answer contains the news, and no message comes.
func (p *Page) notify(c *call) (any, error) {
	var asked struct {
		Alias string `json:"alias"`
		When  string `json:"when"`
	}
	me, err := c.asks(&asked)
	if err != nil {
		return nil, err
	}
	_, now, err := owed.RequestNotice(c, c.b().Registry, me, asked.Alias, asked.When, false)
	if now == nil {
		now = new(owed.SessionNews)
	}
	return map[string]string{"became": now.Became, "text": visible(now.Text)}, err
}

// read handles POST /api/read: it marks as read the person's own messages that the page has shown.
// Newer messages go on waiting.
func (p *Page) read(c *call) (any, error) {
	var asked struct {
		Keys []string `json:"keys"`
	}
	me, err := c.asks(&asked)
	if err != nil {
		return nil, err
	}
	n, err := c.take(me, asked.Keys...)
	return map[string]int{"read": n}, err
}

// take marks the person's waiting messages with these keys as read, and returns their number.
func (c *call) take(me sessions.Session, keys ...string) (n int, err error) {
	return c.takeThose(me, func(m mail.Message) bool { return slices.Contains(keys, keyOf(m.Fingerprint())) })
}

func (c *call) takeThose(me sessions.Session, match func(mail.Message) bool) (n int, err error) {
	box, err := c.b().Mailbox(me.ID)
	if err != nil {
		return 0, err
	}
	l, err := box.LeaseOnly(c, inbox.ByPage, match)
	if err != nil {
		return 0, err
	}
	return len(l.Messages), l.Ack(c, inbox.Handles(l.Messages)...)
}
