package claude

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"unicode"

	"c2c/client"
	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/wake"
	"c2c/wake/watch"
)

// Carrier carries messages over the socket. A message has arrived when the session's
// UserPromptSubmit hook has seen it, so Carrier works only for sessions with our hooks.
type Carrier struct {
	Socket *Socket
	Box    *inbox.Mailbox
	Busy   func(context.Context) bool // reports whether the client works; nil: never

	Config  string // the client's configuration directory, which has the client's record of the session
	Process int
}

// Carry implements wake.Carrier. If no hook reports the messages, Carry looks for them in the
// client's record, because a client that has just reloaded its hooks may run none for this prompt.
// Otherwise messages that the client has taken would come twice.
func (c *Carrier) Carry(ctx context.Context, msgs []mail.Message) (had []string, err error) {
	record := recordOf(c.Config, c.Process)
	had, err = c.carry(ctx, msgs)
	if len(had) == 0 && errors.Is(err, wake.ErrUncaptured) {
		if had = record.prompted(msgs); len(had) > 0 {
			err = nil
		}
	}
	return had, err
}

func (c *Carrier) carry(ctx context.Context, msgs []mail.Message) (had []string, err error) {
	return watch.Receipt{Box: c.Box, Busy: c.Busy}.Carry(ctx, msgs, func(msgs []mail.Message) ([]string, error) {
		text, names, ids := pack(msgs)
		// If the client holds messages until its person accepts them, only ring: a hook shows the
		// mail earlier, so carried mail would come twice.
		if len(ids) == 0 || c.Socket.inbound() == client.ClaudeHolds {
			return nil, nil
		}
		if err := c.Socket.write(ctx, label(names), text); err != nil {
			return nil, err
		}
		return ids, nil
	}, c.Socket)
}

// mayAlter reports whether the client may change a body. The client (2.1.329) looks for four tags
// of its own (cross-session-message, teammate-message, agent-message, cited) and puts a backslash
// in front of them. It finds such a tag in any spelling, after any character that it reads as "<",
// and with signs between the letters.
func mayAlter(body string) bool {
	behind := false // a bracket came before i, and since then only signs
	for i, r := range body {
		switch {
		case r == '<':
			behind = true
		case mail.IsBracket(r):
			return true
		case behind && (unicode.IsLetter(r) || unicode.IsDigit(r)):
			behind = false
			name := mail.Letters(body[i:], 12)
			for _, tag := range []string{"crosssession", "teammatemess", "agentmessage", "cited"} {
				if strings.HasPrefix(name, tag) {
					return true
				}
			}
		}
	}
	return false
}

// pack takes messages in order, up to the first message that the client may alter. The hooks bring
// that message. Over the socket it would come twice, because c2c would not recognize it in the
// prompt.
func pack(msgs []mail.Message) (text string, names, ids []string) {
	seen := map[string]bool{}
	for _, m := range msgs {
		if mayAlter(m.Content) || strings.ContainsFunc(m.From+m.ID+m.InReplyTo+m.Kind+m.Tag, mail.IsBracket) {
			break
		}
		part := m.InlineEnvelope()
		if text != "" {
			text += "\n"
		}
		text += part
		ids = append(ids, m.ID)
		if name := cmp.Or(m.Sender(), "another session"); !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	return text, names, ids
}

// maxLabel is the length of the longest sender name, in bytes, that the client accepts in a
// message.
const maxLabel = 64

// label returns names as one text, as many of them as fit into maxLabel.
func label(names []string) string {
	text := strings.Join(names, ", ")
	if len(text) <= maxLabel {
		return text
	}
	text = text[:maxLabel-len(" _")]
	if i := strings.LastIndex(text, ","); i > 0 {
		text = text[:i]
	}
	return text + " …"
}
