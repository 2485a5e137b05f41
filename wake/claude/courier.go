package claude

import (
	"context"
	"strings"

	"c2c/inbox"
	"c2c/wake"
)

// maxCarry bounds one line. The client takes a megabyte; a turn need not start with so much.
const maxCarry = 64 << 10

// Courier carries messages over the socket. Its receipt is the session's
// UserPromptSubmit hook, which archives what it sees (inbox.Mailbox.Receive),
// so it is for sessions that have our hooks.
type Courier struct {
	Socket *Socket
	Box    *inbox.Mailbox
	Root   string // the directory of the mailbox
}

// Carry implements wake.Courier.
func (c *Courier) Carry(ctx context.Context, msgs []inbox.Message) (had []string, err error) {
	text, names, ids := pack(msgs)
	if len(ids) == 0 {
		return nil, c.Socket.Ring(ctx, wake.NoticeOf(msgs)) // too long to carry, or not archived
	}
	mark, err := c.Box.Mark(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.Socket.write(ctx, strings.Join(names, ", "), text); err != nil {
		return nil, err
	}
	return wake.Receipt(ctx, c.Box, c.Root, mark, ids)
}

// pack takes whole messages in order while they fit. An ephemeral one leaves no
// record that it arrived, and so is left to the hooks.
func pack(msgs []inbox.Message) (text string, names, ids []string) {
	seen := map[string]bool{}
	for _, m := range msgs {
		part := m.Envelope()
		if m.Ephemeral || len(text)+len(part) > maxCarry {
			break
		}
		if text != "" {
			text += "\n"
		}
		text += part
		ids = append(ids, m.ID)
		if name := plain(m.From); !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	return text, names, ids
}

// plain keeps a sender's name from breaking the frame around the messages.
func plain(name string) string {
	if !inbox.ValidName(name) {
		return "another session"
	}
	return name
}
