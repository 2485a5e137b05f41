package tools

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"c2c/broker"
	"c2c/inbox"
	"c2c/sessions"
	"c2c/sessions/callers"
)

// toolCall is one call of a tool.
type toolCall struct {
	*Peer
	b      *broker.Broker
	req    mcp.CallToolRequest
	caller callers.Caller

	handsMail bool // the answer shows mail itself: no other mail is added to it
}

// attach returns the caller's session. It registers the session if necessary.
func (c *toolCall) attach(ctx context.Context) (sessions.Session, error) {
	return c.find(ctx, c.b.Attach)
}

// find calls the function get, which finds or makes the caller's session, and returns this session.
func (c *toolCall) find(ctx context.Context, get func(context.Context, callers.Caller) (sessions.Session, error)) (sessions.Session, error) {
	if c.Others != nil && c.caller.Last == "" {
		defer c.Others.LockBinding()()
		c.caller = c.callerIn(ctx, c.b, c.req)
	}
	s, err := get(ctx, c.caller)
	if err != nil {
		return s, err
	}
	c.Remember(c.b, s)
	if c.Others != nil {
		if err := c.Others.Bind(s.ID, c.caller.ClientID != ""); err != nil {
			return s, fmt.Errorf("record the session of this connection: %w", err)
		}
	}
	c.caller.Last = s.ID
	c.joinRooms(ctx, c.b, s)
	if err := sessions.SawAnswer(c.b.Registry, s.ID, time.Time{}); err != nil { // a call shows that the model has answered
		c.Cfg.Log.Warn("an answer of a session's model is not recorded", "session", s.ID, "err", err)
	}
	return s, c.own(s)
}

func (c *toolCall) mailbox(ctx context.Context) (s sessions.Session, box *inbox.Mailbox, err error) {
	if s, err = c.attach(ctx); err == nil {
		box, err = c.b.Mailbox(s.ID)
	}
	return s, box, err
}

// own refuses a session_id that is not the caller's session: a model wrote this argument, and must
// not act for another session by it.
func (c *toolCall) own(s sessions.Session) error {
	if sid := c.req.GetString("session_id", ""); sid != "" && sid != s.ID {
		return fmt.Errorf("session_id %q is not yours, which is %q: leave the argument out", sid, s.ID)
	}
	return nil
}

// lockWait is the default of Config.LockWait. The tools wait only for locks; but the tool named
// "ask" also waits for an answer.
const lockWait = 10 * time.Second

// limited calls the function do with a context that ends after LockWait.
func (c *toolCall) limited(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(c.Cfg.LockWait, lockWait))
	defer cancel()
	return do(ctx)
}
