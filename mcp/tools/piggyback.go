package tools

import (
	"context"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"c2c/client"
	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/sessions"
	"c2c/sessions/callers"
)

// addMail adds the caller's waiting mail to the result of a tool, unless a hook or a plugin shows
// the mail to the client's model before the model goes on. The mail comes after the result, so that
// programs find the result unchanged. Mail that does not fit waits.
func (c *toolCall) addMail(ctx context.Context, res *mcp.CallToolResult) {
	p, known := client.Find(c.caller.Client)
	if known && !p.ResultMail || c.handsMail {
		return
	}
	s, err := callers.Resolve(ctx, c.b.Registry, c.callerIn(ctx, c.b, c.req)) // the call may have registered the session
	if err != nil {
		return // without a session there is no mail
	}
	box, err := c.b.Mailbox(s.ID)
	if err != nil {
		return
	}
	if some, err := box.Waiting(); err != nil || !some {
		return
	}
	if err := c.addLeased(ctx, s, box, res); err != nil {
		c.logFailure(ctx, s.ID, inbox.ByResult, err)
	}
}

func (c *toolCall) addLeased(ctx context.Context, s sessions.Session, box *inbox.Mailbox, res *mcp.CallToolResult) error {
	room := c.room()
	for _, content := range res.Content {
		if text, ok := content.(mcp.TextContent); ok {
			room -= len(text.Text)
		}
	}
	l, err := box.Lease(ctx, inbox.ByResult, int64(2*max(room, 1)))
	if err != nil {
		return err
	}
	text, count := mail.Preface(l.Messages), 0
	for _, m := range l.Messages {
		one := "\n" + m.EnvelopeAt(time.Now())
		if len(text)+len(one) > room {
			break
		}
		text += one
		count++
	}
	if count > 0 {
		c.ackOnWritten(ctx, s, inbox.ByResult, l, count, part{})
		res.Content = append(res.Content, mcp.NewTextContent(text))
	} else if err := l.Release(); err != nil {
		return err
	}
	if rest := mail.MoreWait(len(l.Messages)-count, l.More); rest != "" {
		res.Content = append(res.Content, mcp.NewTextContent(rest+": call poll_inbox."))
	}
	return nil
}
