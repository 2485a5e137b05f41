package mcpserver

import (
	"context"
	"strings"

	"github.com/mark3labs/mcp-go/server"

	"c2c/inbox"
	"c2c/wake"
)

// The contract of Claude Code's channels (Channels reference, "Notification format").
const (
	channelCapability   = "claude/channel"
	channelNotification = "notifications/claude/channel"
)

// Channel reaches an idle Claude Code session with channel notifications. The client tells nobody whether
// it listens: it does when its person started it with the channel, and drops them in silence otherwise.
type Channel struct {
	Server *server.MCPServer
	Box    *inbox.Mailbox
	Root   string // the directory of the mailbox
}

// Ring sends a notification without any body. The UserPromptSubmit hook that it fires hands the mail over.
func (c *Channel) Ring(_ context.Context, n wake.Notice) error {
	c.push(n.Sentinel("poll mcp__c2c__poll_inbox"), map[string]any{"from": strings.Join(n.From, ",")})
	return nil
}

// maxChannel bounds what is pushed at once, in bytes.
const maxChannel = 64 << 10

// Carry sends the messages, each in its envelope. Its receipt is the UserPromptSubmit hook, which sees them.
func (c *Channel) Carry(ctx context.Context, msgs []inbox.Message) (had []string, err error) {
	mark, err := c.Box.Mark(ctx)
	if err != nil {
		return nil, err
	}
	var ids []string
	for size := 0; len(ids) < len(msgs); {
		m := msgs[len(ids)]
		text := m.Envelope()
		if size += len(text); m.Ephemeral || size > maxChannel {
			break // an ephemeral one leaves no record that it arrived
		}
		c.push(text, map[string]any{"from": m.From, "to": m.To, "from_alias": m.From, "to_alias": m.To,
			"ts": m.Time().UTC().Format("15:04")})
		ids = append(ids, m.ID)
	}
	if len(ids) == 0 {
		return nil, c.Ring(ctx, wake.NoticeOf(msgs))
	}
	return wake.Receipt(ctx, c.Box, c.Root, mark, ids)
}

func (c *Channel) push(content string, meta map[string]any) {
	c.Server.SendNotificationToAllClients(channelNotification, map[string]any{"content": content, "meta": meta})
}
