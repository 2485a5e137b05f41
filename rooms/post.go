package rooms

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"c2c/inbox/mail"
	"c2c/internal/fields"
)

// Post is one line of a history. A line of another program may have only the first three fields.
type Post struct {
	TS      float64 `json:"ts"`         // Unix seconds
	From    string  `json:"from_alias"` // the alias of the author
	Content string  `json:"content"`

	ID        string `json:"message_id,omitempty"`   // "": another program wrote the post
	Session   string `json:"from_session,omitempty"` // the author's session
	InReplyTo string `json:"in_reply_to,omitempty"`  // the id of the post that this post answers
	Thread    string `json:"thread,omitempty"`       // the id of the first post of the thread; "": this post is the first
	Kind      string `json:"kind,omitempty"`
	Tag       string `json:"tag,omitempty"`
	Reason    string `json:"reason,omitempty"` // the reason for waking all members
	// Stopped is the post at which the loop guard stopped the room; "": the room is not stopped.
	Stopped string   `json:"stopped,omitempty"`
	KnownBy string   `json:"known_by,omitempty"`    // how c2c knows the author, see mail.Message
	Person  bool     `json:"from_person,omitempty"` // the author is a person
	To      []string `json:"to_sessions,omitempty"` // the sessions that also get the post as a message
	// Wakes counts how often posts in the room have woken an agent since a person last posted. It
	// includes the wakes of this post.
	Wakes int `json:"wakes,omitempty"`

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

// line returns the post as a line of the history.
func (p Post) line() []byte {
	type bare Post
	return jsonLine(struct {
		TS json.RawMessage `json:"ts"` // as the OCaml c2c reads a time
		bare
	}{fields.AppendSeconds(nil, p.TS), bare(p)})
}

// jsonLine returns a value as JSON on one line. It does not escape characters for HTML.
func jsonLine(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.Encode(v) // a value without functions and channels into memory cannot fail
	return b.Bytes()
}

// mostWakes limits the count of wakes that is read from a file: a greater count is taken as
// mostWakes.
const mostWakes = 1 << 20

// parsePost reads a line of a history. It ignores unknown fields, and fields of a wrong type.
func parsePost(line []byte) (p Post, err error) {
	err = json.Unmarshal(line, &p)
	if errors.As(err, new(*json.UnmarshalTypeError)) {
		err = nil
	}
	if err == nil && p.From == "" {
		err = errors.New("no post: it has no from_alias")
	}
	p.Wakes = min(max(p.Wakes, 0), mostWakes)
	if !mail.ValidName(p.ID) {
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
