package tools

import (
	"context"
	"errors"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"c2c/sessions"
	"c2c/sessions/callers"
	"c2c/wake"
)

// InboxURI is the URI of the resource that changes when mail arrives.
const InboxURI = "c2c://inbox"

// AddInbox adds the resource that says how much mail waits, and from which senders. The resource
// has no text of the mail, because a client may read the resource without showing it to a model.
func (t *Tools) AddInbox(srv *server.MCPServer) {
	resource := mcp.NewResource(InboxURI, "inbox", mcp.WithMIMEType("application/json"),
		mcp.WithResourceDescription("How many messages wait for this session, and from whom. The tool poll_inbox hands them over."))
	srv.AddResource(resource, func(ctx context.Context, _ mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		text, err := t.peer(ctx).waiting(ctx)
		if err != nil {
			return nil, err
		}
		return []mcp.ResourceContents{mcp.TextResourceContents{URI: InboxURI, MIMEType: "application/json", Text: text}}, nil
	})
}

// WantsInbox reports whether a client subscribes to its inbox.
func WantsInbox(req *mcp.SubscriptionsListenRequest) bool {
	return slices.Contains(req.Params.Notifications.ResourceSubscriptions, InboxURI)
}

// traceKey is the member of _meta that identifies a ring, as in broker.log.
const traceKey = "trace_id"

// InboxChanged returns the notification that rings a client. It has no text of the mail.
func InboxChanged(n wake.Notice) mcp.JSONRPCNotification {
	params := mcp.NotificationParams{AdditionalFields: map[string]any{"uri": InboxURI}}
	if n.RingID != "" {
		params.Meta = map[string]any{traceKey: n.RingID}
	}
	return mcp.JSONRPCNotification{JSONRPC: mcp.JSONRPC_VERSION, Notification: mcp.Notification{
		Method: mcp.MethodNotificationResourceUpdated,
		Params: params,
	}}
}

// waitingMail is the content of the resource.
type waitingMail struct {
	Waiting int      `json:"waiting"`
	From    []string `json:"from,omitempty"` // as in wake.Notice
}

func (p *Peer) waiting(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	b, err := p.Open()
	if err != nil {
		return "", err
	}
	var w waitingMail
	s, err := callers.Resolve(ctx, b.Registry, p.callerIn(ctx, b, mcp.CallToolRequest{}))
	if errors.Is(err, sessions.ErrNoSession) {
		return ToJSON(w) // without a session there is no mail
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
	return ToJSON(w)
}
