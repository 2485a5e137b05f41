package outside

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"c2c/broker"
	"c2c/inbox/mail"
	"c2c/internal/fields"
)

// letter is a message that is ready to be sent.
type letter struct {
	mail.Message
	mail.Origin
}

// letter makes a message from a request. If the body is a JSON object and c2c knows all its
// members, the members are the message's fields. Any other body, such as a JSON object with other
// members, is the text of the message as it is.
func (q *request) letter() (l letter, err error) {
	l.To, l.Kind, l.ChatID = q.to, q.query["kind"], q.query["chat_id"]
	l.Path, l.Method, l.Identity = q.path, http.MethodPost, q.identity
	if !utf8.Valid(q.body) {
		return l, refuse(http.StatusBadRequest, "the body is not UTF-8: send text")
	}
	body := q.body
	if q.sender.Scheme == GitHub {
		body, err = q.payload()
	} else if q.media == jsonMedia || q.media != "text/plain" && !q.sender.Bridge {
		// A bridge passes on text that a person has typed. If a person typed JSON, it could name
		// another chat. Therefore parse the text of a bridge only if the bridge declares the body
		// as JSON.
		err = l.members(body)
	}
	if err != nil {
		return l, err
	}
	if l.Content == "" {
		l.Content = q.firstLine() + string(body)
	}
	if strings.TrimSpace(l.Content) == "" {
		return l, refuse(http.StatusBadRequest, "the body has no text")
	}
	l.ChatID = cmp.Or(l.ChatID, q.identity, q.sender.Name)
	if q.proof != "" {
		l.ID = idOf(q.sender, q.proof)
	}
	return l, l.check()
}

const jsonMedia = "application/json"

// members sets the letter's fields from a JSON object. If the body is not an object, or has members
// that c2c does not know, it leaves the letter as it is.
func (l *letter) members(body []byte) error {
	if text := bytes.TrimLeft(body, " \t\r\n"); len(text) == 0 || text[0] != '{' || !json.Valid(body) {
		return nil
	}
	words := map[string]*string{"text": &l.Content, "content": &l.Content, "kind": &l.Kind, "tag": &l.Tag, "chat_id": &l.ChatID,
		"reply_to": &l.InReplyTo, "message_id": &l.ID}
	had, texts := map[string]string{}, 0
	err := fields.Each(body, func(name string, value json.RawMessage) error {
		text, err := fields.Text(value)
		if _, twice := had[name]; err != nil || twice || words[name] == nil {
			return errOther
		}
		if words[name] == &l.Content {
			texts++
		}
		had[name] = text
		return nil
	})
	if err != nil || texts != 1 {
		return nil
	}
	for name, text := range had {
		if name == "kind" && l.Kind != "" && l.Kind != text {
			return refuse(http.StatusBadRequest, "the body has kind %.40q and the URL has kind %.40q: give only one", text, l.Kind)
		}
		*words[name] = text
	}
	if l.Content == "" {
		return refuse(http.StatusBadRequest, "the message has no text")
	}
	return nil
}

// errOther ends the reading of an object whose members are not the fields of a message. No sender
// sees this error.
var errOther = refuse(http.StatusBadRequest, "another object")

// payload returns the JSON of a request from GitHub. GitHub sends the JSON either as the body, or
// in a field of a form.
func (q *request) payload() ([]byte, error) {
	if q.media != "application/x-www-form-urlencoded" {
		return q.body, nil
	}
	form, err := url.ParseQuery(string(q.body))
	if err != nil || len(form["payload"]) != 1 {
		return nil, refuse(http.StatusBadRequest, "the form must have one field payload")
	}
	return []byte(form["payload"][0]), nil
}

// check returns an error, with a sentence for the sender, if the letter has an invalid field.
func (l letter) check() error {
	if l.Kind != "" && !slices.Contains(broker.Kinds(), l.Kind) {
		return refuse(http.StatusBadRequest, "unknown kind %.40q: want one of %q", l.Kind, broker.Kinds())
	}
	if l.Tag != "" && !slices.Contains(broker.Tags(), l.Tag) {
		return refuse(http.StatusBadRequest, "unknown tag %.40q: want one of %q", l.Tag, broker.Tags())
	}
	for name, id := range map[string]string{"message_id": l.ID, "reply_to": l.InReplyTo} {
		if id == "" {
			continue
		}
		if err := mail.CheckName(name, id); err != nil {
			return refuse(http.StatusBadRequest, "%v", err)
		}
	}
	if err := mail.CheckWord("chat_id", l.ChatID); err != nil {
		return refuse(http.StatusBadRequest, "%v", err)
	}
	return nil
}
