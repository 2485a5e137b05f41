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

// Carrier carries messages over the socket. Its receipt is the session's
// UserPromptSubmit hook, so it works only for sessions with our hooks.
type Carrier struct {
	Socket *Socket
	Box    *inbox.Mailbox
	Busy   func(context.Context) bool // reports whether the client works; nil: never

	Config  string // the client's configuration directory, which has its record of the session
	Process int
}

// Carry implements wake.Carrier. A client that has just reloaded its hooks may run none with this prompt. Then Carry reads from
// the client's record which messages it has taken: otherwise they would come twice.
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
		// The client would show held messages when its person accepts them, and a hook would show them before.
		if len(ids) == 0 || c.Socket.inbound() == client.ClaudeHolds {
			return nil, nil
		}
		if err := c.Socket.write(ctx, label(names), text); err != nil {
			return nil, err
		}
		return ids, nil
	}, c.Socket)
}

// mayAlter reports whether the client may change a body. The client (2.1.329) looks for four tags of its own, in any
// spelling, behind a character that it reads as "<", even with other signs in between (cross-session-message,
// teammate-message, agent-message, cited), and inserts a backslash there.
func mayAlter(body string) bool {
	behind := false // a bracket, with only signs between
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

// pack takes messages in order, up to one that the client may alter. It leaves that one to the hooks, because c2c would
// not find it in the prompt, and it would come twice.
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

// maxLabel is the longest name, in bytes, with which the client accepts the frame
// as its own.
const maxLabel = 64

// label lists as many senders as fit.
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
