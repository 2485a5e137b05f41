package rooms

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"c2c/inbox/mail"
	"c2c/internal/fields"
)

// Post is one line of a history. A line of another program may have only the first three fields.
type Post struct {
	TS      float64 // Unix seconds
	From    string  // the alias of the author
	Content string

	ID        string // "": another program wrote the post
	Session   string // the author's session
	InReplyTo string // the id of the post that this post answers
	Thread    string // the id of the first post of the thread; "": this post is the first
	Kind      string
	Tag       string
	Reason    string // the reason for waking all members
	Person    bool   // the author is a person
	KnownBy   string // how c2c knows the author, see mail.Message
	// To has the sessions that also get the post as a message.
	To []string
	// Wakes counts how often posts in the room have woken an agent since a person last posted. It
	// includes the wakes of this post.
	Wakes int
	// Stopped is the post at which the loop guard stopped the room; "": the room is not stopped.
	Stopped string

	start, end int64 // the places in the history before and after the line of this post
}

// Time returns the time of the post.
func (p Post) Time() time.Time { return mail.FromSeconds(p.TS) }

// Root returns the id of the first post of its thread.
func (p Post) Root() string {
	if p.Thread != "" {
		return p.Thread
	}
	return p.ID
}

// Message returns the post as a message of its author, without a receiver.
func (p Post) Message() mail.Message {
	return mail.Message{From: p.From, Content: p.Content, TS: p.TS, ID: p.ID, FromSession: p.Session, InReplyTo: p.InReplyTo, Kind: p.Kind, Tag: p.Tag, FromPerson: p.Person, KnownBy: p.KnownBy}
}

// In returns the post as a message to its room. It replaces an invalid author, because a line of a
// history may name any author.
func (p Post) In(room string) mail.Message {
	m := p.Message()
	m.From, m.To = mail.SafeAlias(m.From), "#"+room
	return m
}

// texts returns pointers to the optional texts, in the order in which a line has them.
func (p *Post) texts() []struct {
	name string
	to   *string
} {
	return []struct {
		name string
		to   *string
	}{{"message_id", &p.ID}, {"from_session", &p.Session}, {"in_reply_to", &p.InReplyTo}, {"thread", &p.Thread}, {"kind", &p.Kind},
		{"tag", &p.Tag}, {"reason", &p.Reason}, {"stopped", &p.Stopped}, {"known_by", &p.KnownBy}}
}

// line returns the post as a line of the history.
func (p Post) line() []byte {
	b := fields.AppendSeconds([]byte(`{"ts":`), p.TS)
	b = fields.AppendText(append(b, `,"from_alias":`...), p.From)
	b = fields.AppendText(append(b, `,"content":`...), p.Content)
	for _, t := range p.texts() {
		if *t.to != "" {
			b = append(fields.AppendText(append(b, ','), t.name), ':')
			b = fields.AppendText(b, *t.to)
		}
	}
	if p.Person {
		b = append(b, `,"from_person":true`...)
	}
	if len(p.To) > 0 {
		b = append(b, `,"to_sessions":[`...)
		for i, sid := range p.To {
			if i > 0 {
				b = append(b, ',')
			}
			b = fields.AppendText(b, sid)
		}
		b = append(b, ']')
	}
	if p.Wakes > 0 {
		b = strconv.AppendInt(append(b, `,"wakes":`...), int64(p.Wakes), 10)
	}
	return append(b, "}\n"...)
}

// mostWakes limits the count of wakes that is read from a file: a greater count is taken as
// mostWakes.
const mostWakes = 1 << 20

var errNoPost = errors.New("no post: from_alias and content must be strings")

// parsePost reads a line of a history. It ignores unknown fields, and optional fields of a wrong
// type.
func parsePost(line []byte) (p Post, err error) {
	if !json.Valid(line) {
		return p, errNoPost
	}
	var from, content bool
	err = fields.Each(line, func(name string, value json.RawMessage) (err error) {
		switch name {
		case "ts":
			if ts, err := strconv.ParseFloat(string(value), 64); err == nil {
				p.TS = ts
			}
		case "from_alias":
			p.From, err = fields.Text(value)
			from = err == nil
		case "content":
			p.Content, err = fields.Text(value)
			content = err == nil
		case "from_person":
			p.Person = string(value) == "true"
		case "to_sessions":
			if to, err := fields.Texts(value); err == nil {
				p.To = to
			}
		case "wakes":
			if n, err := strconv.Atoi(string(value)); err == nil {
				p.Wakes = min(max(n, 0), mostWakes)
			}
		default:
			texts := p.texts()
			if i := slices.IndexFunc(texts, func(t struct {
				name string
				to   *string
			}) bool {
				return t.name == name
			}); i >= 0 {
				if text, err := fields.Text(value); err == nil {
					*texts[i].to = text
				}
			}
		}
		return err
	})
	if err == nil && (!from || !content) {
		err = errNoPost
	}
	if p.ID != "" && !mail.ValidName(p.ID) {
		p.ID = "" // nobody can answer a post with such an id
	}
	return p, err
}

// MaxPost is the greatest size of a post, in bytes.
const MaxPost = 64 << 10

// ErrTooLarge means that a post has more than MaxPost bytes.
var ErrTooLarge = errors.New("post is too large")

// Check returns an error if the post must not be stored: it is empty, too large, or could not be
// read back.
func (p Post) Check() error {
	m := p.Message()
	m.To = p.From
	switch {
	case len(p.Content) > MaxPost:
		return fmt.Errorf("%w: %d bytes, at most %d; put it into a file and post its path", ErrTooLarge, len(p.Content), MaxPost)
	case strings.TrimSpace(p.Content) == "":
		return errors.New("the post is empty")
	case len(p.Reason) > maxReason:
		return fmt.Errorf("the reason has %d bytes, at most %d", len(p.Reason), maxReason)
	}
	return m.Check()
}

const maxReason = 200

// JSON returns the post as a line of the history, without the newline.
func (p Post) JSON() []byte {
	line := p.line()
	return line[:len(line)-1]
}
