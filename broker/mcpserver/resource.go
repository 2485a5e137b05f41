package mcpserver

import (
	"context"
	"errors"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"c2c/broker"
	"c2c/wake"
)

// inboxURI is the resource that a bell is about.
const inboxURI = "c2c://inbox"

// addInbox adds the resource that tells how much mail waits, and from whom: never a word of it, since a client may read it
// without anybody's wish, and what was read there is not read.
func (t *tools) addInbox(srv *server.MCPServer) {
	resource := mcp.NewResource(inboxURI, "inbox", mcp.WithMIMEType("application/json"),
		mcp.WithResourceDescription("How many messages wait for this session, and from whom. The tool poll_inbox hands them over."))
	srv.AddResource(resource, func(ctx context.Context, _ mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		text, err := t.peer(ctx).waiting(ctx)
		if err != nil {
			return nil, err
		}
		return []mcp.ResourceContents{mcp.TextResourceContents{URI: inboxURI, MIMEType: "application/json", Text: text}}, nil
	})
}

// waitingMail is that resource.
type waitingMail struct {
	Waiting int      `json:"waiting"`
	From    []string `json:"from,omitempty"` // aliases, at most a few
}

func (p *peer) waiting(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	b, err := p.open()
	if err != nil {
		return "", err
	}
	var w waitingMail
	s, err := b.Resolve(ctx, p.callerIn(ctx, b, mcp.CallToolRequest{}))
	if errors.Is(err, broker.ErrNoSession) {
		return toJSON(w) // who is not registered has no mail
	}
	if err != nil {
		return "", err
	}
	box, err := b.Mailbox(s.ID)
	if err != nil {
		return "", err
	}
	msgs, err := box.Peek(ctx)
	if err != nil {
		return "", err
	}
	if len(msgs) > 0 {
		n := wake.NoticeOf(msgs)
		w.Waiting, w.From = n.Count, n.From
	}
	return toJSON(w)
}
