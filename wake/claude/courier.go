package claude

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"c2c/inbox"
	"c2c/wake"
)

const (
	// maxCarry bounds one line. The client takes a megabyte; a turn need not start with so much.
	maxCarry = 64 << 10
	// receiptTime is how long a carried message may take to come back through the hook.
	receiptTime = 15 * time.Second
)

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
	return c.receipt(ctx, mark, ids)
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

// receipt waits for the hook.
func (c *Courier) receipt(ctx context.Context, mark inbox.Mark, ids []string) (had []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, receiptTime)
	defer cancel()
	err = wake.Wait(ctx, filepath.Join(c.Root, c.Box.ArchiveLock()), func() (bool, error) {
		got, err := c.Box.ArchivedSince(mark)
		had = had[:0]
		for _, id := range ids {
			if got[id] {
				had = append(had, id)
			}
		}
		return len(had) == len(ids), err
	})
	if len(had) > 0 {
		return had, nil
	}
	if ctx.Err() != nil {
		err = fmt.Errorf("%w: no sign that it has the messages within %v", wake.ErrUncaptured, receiptTime)
	}
	return nil, err
}
