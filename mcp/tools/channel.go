package tools

import (
	"context"
	"errors"
	"fmt"

	"github.com/mark3labs/mcp-go/server"

	"c2c/client"
	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/wake"
	"c2c/wake/watch"
)

// Names in the protocol of Claude Code's channels (Claude Code's Channels reference, "Notification
// format").
const (
	channelCapability   = client.ChannelCapability
	ChannelNotification = "notifications/" + client.ChannelCapability
)

// Channel wakes an idle Claude Code session with channel notifications. The client accepts them
// only if its person has started it with the channel. Otherwise the client drops them silently, and
// c2c cannot find that out.
type Channel struct {
	Server *server.MCPServer
	Box    *inbox.Mailbox
	Busy   func(context.Context) bool // reports whether the client is working; nil: never
}

// Ring sends a notification without any message body. The client then runs c2c's UserPromptSubmit
// hook, which hands the mail over.
func (c *Channel) Ring(ctx context.Context, n wake.Notice) error {
	return c.push(ctx, n.Text(wake.Poll), map[string]any{"from": n.Senders()})
}

// Carry sends the messages, each in its envelope. Then c2c's UserPromptSubmit hook in the client
// sees and archives them; a message in the archive is the receipt. Carry returns the ids of the
// messages whose receipts came.
func (c *Channel) Carry(ctx context.Context, msgs []mail.Message) (had []string, err error) {
	return watch.Receipt{Box: c.Box, Busy: c.Busy}.Carry(ctx, msgs, func(msgs []mail.Message) (ids []string, err error) {
		for _, m := range msgs {
			if err = c.push(ctx, m.Envelope(), Meta(m)); err != nil {
				break
			}
			ids = append(ids, m.ID)
		}
		return ids, err
	}, c)
}

// Meta returns the attributes that the client writes into the tag around a message. It leaves out a
// name that is not a valid alias, because such a name could close the tag.
func Meta(m mail.Message) map[string]any {
	meta := map[string]any{"ts": m.Time().UTC().Format("15:04")}
	for key, name := range map[string]string{"from": m.From, "to": m.To, "from_alias": m.From, "to_alias": m.To} {
		if mail.IsAddress(name) {
			meta[key] = name
		}
	}
	for _, a := range m.OriginAttributes() {
		meta[a[0]] = a[1]
	}
	return meta
}

// push queues the notification for the client and returns nil. It returns an error if the client
// does not read or is gone.
func (c *Channel) push(ctx context.Context, content string, meta map[string]any) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%w: %w", wake.ErrUncaptured, err)
	}
	err := c.Server.SendNotificationToSpecificClient(StdioID, ChannelNotification, map[string]any{"content": content, "meta": meta})
	switch {
	case errors.Is(err, server.ErrNotificationChannelBlocked):
		return fmt.Errorf("%w: the client does not read notifications", wake.ErrUncaptured)
	case err != nil: // no client has initialized, or the client has ended
		return fmt.Errorf("%w: %v", wake.ErrUnreachable, err)
	}
	return nil
}

const StdioID = "stdio" // the MCP session id of the only client of a server process
