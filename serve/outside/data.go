package outside

import (
	"encoding/json"
	"fmt"
	"strings"

	"c2c/inbox/mail"
	"c2c/internal/sse"
	"c2c/serve/live"
	"c2c/sessions/permission"
)

// The data of the events. Later versions only add fields.
type (
	helloData struct {
		As          string `json:"as"` // always outside
		Name        string `json:"name"`
		Permissions bool   `json:"permissions"` // the sender may decide permission requests
	}
	replyData struct {
		MessageID string      `json:"message_id"`
		TS        float64     `json:"ts"`
		From      string      `json:"from_alias"`
		InReplyTo string      `json:"in_reply_to,omitempty"`
		ChatID    string      `json:"chat_id,omitempty"`
		Identity  string      `json:"identity,omitempty"` // the answer is for this person behind a bridge
		Kind      string      `json:"kind,omitempty"`
		Tag       string      `json:"tag,omitempty"`
		Text      string      `json:"text"`
		Edits     string      `json:"edits,omitempty"` // the id of the answer that this answer replaces
		Files     []mail.File `json:"files,omitempty"`
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
	l.written = l.id()
	return l.out.Send(sse.Event{ID: l.written, Name: name, Data: text})
}

// reply writes an answer to the sender.
func (l *listener) reply(m mail.Message) error {
	o, _ := m.Origin()
	if l.text {
		return l.words(replyText(m, o))
	}
	name := "reply"
	if o.Edits != "" {
		name = "edit"
	}
	return l.send(name, replyData{m.ID, m.TS, m.From, m.InReplyTo, o.ChatID, o.Identity, m.Kind, m.Tag, m.Content, o.Edits, o.Files})
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

// replyText returns the line of the Channels reference. Files are not in the reference; here each
// file has its own line after the text.
func replyText(m mail.Message, o mail.Origin) string {
	to := o.ChatID
	if to == "" {
		to = m.InReplyTo
	}
	head := "Reply to " + to
	if o.Edits != "" {
		head = "Edit of " + o.Edits
	}
	lines := []string{head + ": " + indented(m.Content)}
	for _, f := range o.Files {
		lines = append(lines, fmt.Sprintf("File %s (%d bytes, sha256 %s)", indented(f.Path), f.Size, f.SHA256))
	}
	return strings.Join(lines, "\n")
}
