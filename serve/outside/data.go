package outside

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"c2c/inbox/mail"
	"c2c/internal/sse"
	"c2c/serve"
	"c2c/serve/live"
	"c2c/sessions"
	"c2c/sessions/permission"
)

// The data of the events. Later versions only add fields.
type (
	helloData struct {
		As          string `json:"as"`             // tools, outside or person
		Name        string `json:"name,omitempty"` // the sender's name
		Permissions bool   `json:"permissions"`    // the reader may decide permission requests
	}
	replyData struct {
		MessageID string  `json:"message_id"`
		TS        float64 `json:"ts"`
		From      string  `json:"from_alias"`
		InReplyTo string  `json:"in_reply_to,omitempty"`
		ChatID    string  `json:"chat_id,omitempty"`
		Identity  string  `json:"identity,omitempty"` // the answer is for this person behind a bridge
		Kind      string  `json:"kind,omitempty"`
		Tag       string  `json:"tag,omitempty"`
		Text      string  `json:"text"`
	}
	requestData struct {
		ID          string  `json:"request_id"`
		Alias       string  `json:"alias"`
		Tool        string  `json:"tool_name"`
		Description string  `json:"description"`
		Input       string  `json:"input_preview"`
		Partial     bool    `json:"partial,omitempty"` // only a part of the input is shown
		AskedAt     float64 `json:"asked_at"`
		ExpiresAt   float64 `json:"expires_at"`
	}
	verdictData struct {
		ID    string           `json:"request_id"`
		Alias string           `json:"alias"`
		State permission.State `json:"state"`
		By    string           `json:"by,omitempty"`
		Via   string           `json:"via,omitempty"`
		Proof string           `json:"proof,omitempty"`
		At    float64          `json:"at,omitempty"`
	}
	messageData struct {
		MessageID string  `json:"message_id"`
		From      string  `json:"from_alias"`
		To        string  `json:"to_alias"`
		State     string  `json:"state"`
		At        float64 `json:"at"`
		By        string  `json:"by,omitempty"`
	}
	sessionData struct {
		ID      string         `json:"session_id"`
		Alias   string         `json:"alias"`
		Client  string         `json:"client,omitempty"`
		State   sessions.State `json:"state"`
		Does    sessions.State `json:"does"`
		Waiting int            `json:"waiting_count"`
		Surface string         `json:"surface_support,omitempty"`
	}
)

func verdictOf(r permission.Request) verdictData {
	return verdictData{r.ID, r.Alias, r.State, r.By, r.Via, r.Proof, r.At}
}

// messageState returns the state of a message without its text, because the reader already has the
// text.
func messageState(m live.Mail) any {
	return struct {
		Message messageData `json:"message"`
	}{messageData{m.ID, m.From, m.To, m.State, mail.Seconds(m.At), m.By}}
}

// send writes a JSON event. On a stream of text it writes nothing.
func (l *listener) send(name string, data any) error {
	if l.text {
		return nil
	}
	text, err := json.Marshal(data)
	if err != nil {
		return err
	}
	return l.event(name, text)
}

func (l *listener) event(name string, data []byte) error {
	l.written = l.id()
	return l.out.Send(sse.Event{ID: l.written, Name: name, Data: data})
}

func (l *listener) hello() error {
	decides := l.v.Kind == serve.Person
	if l.v.Kind == serve.Sender && l.h.cfg.Decides != nil {
		decides = len(l.h.cfg.Decides(l.v.Name)) > 0
	}
	h := helloData{As: l.v.Kind.String(), Permissions: decides}
	if l.v.Kind == serve.Sender {
		h.Name = l.v.Name
	}
	return l.send("hello", h)
}

// tellSessions writes the sessions if they have changed since the last time.
func (l *listener) tellSessions(sessions []live.Session) error {
	all := make([]sessionData, 0, len(sessions))
	for _, s := range sessions {
		all = append(all, sessionData{s.ID, s.Alias, s.Client, s.State, s.Now.Does, s.Count + s.Handed, s.Surface})
	}
	data, err := json.Marshal(struct {
		Sessions []sessionData `json:"sessions"`
	}{all})
	if err != nil || l.text || bytes.Equal(data, l.sessions) {
		return err
	}
	l.sessions = data
	return l.event("status", data)
}

// reply writes an answer to the sender.
func (l *listener) reply(m mail.Message) error {
	o, _ := m.Origin()
	if l.text {
		return l.words(replyText(m, o))
	}
	return l.send("reply", replyData{m.ID, m.TS, m.From, m.InReplyTo, o.ChatID, o.Identity, m.Kind, m.Tag, m.Content})
}

// ask writes a tool call that waits for a person.
func (l *listener) ask(r permission.Request) error {
	if l.text {
		return l.words(requestText(r))
	}
	return l.send("permission", requestData{r.ID, r.Alias, r.Tool, r.Description, r.Input, r.Partial, r.AskedAt, r.ExpiresAt})
}

// words writes a text for a terminal, in the form of the Channels reference.
func (l *listener) words(text string) error {
	return l.out.Send(sse.Event{Data: []byte(mail.Visible(text, "\n\t"))})
}

// requestText returns the line of the Channels reference. It adds the tool's whole input, because a
// model may have written the description.
func requestText(r permission.Request) string {
	does := r.Description
	if r.Input != "" {
		does += "\n" + r.Input
	}
	if r.Partial {
		return fmt.Sprintf("%s wants to run %s, NOT SHOWN IN FULL: %s\n\nLook at it in its own dialog. Reply \"no %s\" to refuse it", r.Alias, r.Tool, indented(does), r.ID)
	}
	return fmt.Sprintf("%s wants to run %s: %s\n\nReply \"yes %s\" or \"no %s\"", r.Alias, r.Tool, indented(does), r.ID, r.ID)
}

// indented indents all lines except the first. Otherwise a line of a foreign text could look like
// another request, or like the end of this request.
func indented(words string) string { return strings.ReplaceAll(words, "\n", "\n    ") }

// replyText returns the line of the Channels reference.
func replyText(m mail.Message, o mail.Origin) string {
	return "Reply to " + cmp.Or(o.ChatID, m.InReplyTo) + ": " + indented(m.Content)
}
