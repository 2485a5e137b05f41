package claude

import (
	"cmp"
	"context"
	"strings"

	"c2c/hooks"
	"c2c/inbox"
	"c2c/wake/watch"
)

// Carrier carries messages over the socket. Its receipt is the session's
// UserPromptSubmit hook, so it is for sessions that have our hooks.
type Carrier struct {
	Socket *Socket
	Box    *inbox.Mailbox
	Busy   func(context.Context) bool // whether the client works; nil: never
}

// Carry implements wake.Carrier.
func (c *Carrier) Carry(ctx context.Context, msgs []inbox.Message) (had []string, err error) {
	return watch.Receipt{Box: c.Box, Busy: c.Busy}.Carry(ctx, msgs, func(msgs []inbox.Message) ([]string, error) {
		text, names, ids := pack(msgs)
		// What is held would be shown when it is accepted, and by a hook before.
		if len(ids) == 0 || c.Socket.inbound() == hooks.ClaudeHolds {
			return nil, nil
		}
		if err := c.Socket.write(ctx, label(names), text); err != nil {
			return nil, err
		}
		return ids, nil
	}, c.Socket)
}

// likeBracket are the characters that the client (2.1.329) reads as "<". Behind
// one, with only signs between, it looks for four tags of its own in any
// spelling (cross-session-message, teammate-message, agent-message, cited), and
// writes a backslash there. A text with none of them stays as it is.
const likeBracket = "\u02c2\u1438\u16b2\u2039\u226a\u226e\u227a\u2280\u22d6\u22d8\u2329\u276c\u276e\u2770\u27e8\u27ea" +
	"\u2991\u2993\u29fc\u2a79\u2aa1\u2aa6\u2af7\u3008\ufe3d\ufe3f\ufe64\uff1c\U0001d236"

// pack takes messages in order. One that the client may alter is left to the hooks: it is not found in the prompt,
// so that it would come twice.
func pack(msgs []inbox.Message) (text string, names, ids []string) {
	seen := map[string]bool{}
	for _, m := range msgs {
		part := m.Envelope()
		if strings.ContainsAny(part, likeBracket) {
			break
		}
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

// maxLabel is how much of a name the client shows. With a longer one it does not
// take the frame for its own.
const maxLabel = 64

// label names the senders, as many as fit.
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
