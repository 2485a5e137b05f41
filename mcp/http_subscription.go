package mcp

import (
	"context"

	"github.com/mark3labs/mcp-go/mcp"
)

// subscription is an open request subscriptions/listen (revision 2026-07-28): the bell of a client
// without an MCP session. mcp-go first writes and flushes its own acknowledgement of the request.
// Then it writes and flushes each notification of the bell.
type subscription struct {
	*host
	bell
	end func()
}

type subscriptionKey struct{} // context key of the request's *subscription

func (h *host) newSubscription(end func()) *subscription {
	s := &subscription{host: h, bell: newBell(h.listeners.Add(1)), end: end}
	s.put = 1 // the acknowledgement
	return s
}

// listensBy sets the channel for the notifications of a subscription to the inbox.
func (s *subscription) listensBy(notes chan<- mcp.JSONRPCNotification) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notes = notes
}

// awaitAck waits until the acknowledgement is written.
func (s *subscription) awaitAck(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.await(ctx, 1)
}

// isBell reports whether c2c can ring here: mcp-go has acknowledged the subscription, and the
// subscription includes the inbox.
func (s *subscription) isBell() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.written > 0 && s.notes != nil // notes is set before the first write
}

// onFlush is called after each flush; err is nil if the kernel has taken the written bytes.
func (s *subscription) onFlush(err error) {
	if err != nil {
		s.end()
		return
	}
	if s.wrote() == 1 {
		s.bellsMoved()
	}
}
