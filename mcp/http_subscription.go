package mcp

import (
	"context"

	"github.com/mark3labs/mcp-go/mcp"

	"c2c/mcp/tools"
	"c2c/wake"
)

// subscription is an open request subscriptions/listen (revision 2026-07-28): the bell of a client without an MCP session.
// mcp-go first writes and flushes its own acknowledgement of the request. Then it writes and flushes each notification from
// the channel notes.
type subscription struct {
	*host
	progress
	root   string
	number uint64 // later streams have higher numbers
	end    func()
	notes  chan<- mcp.JSONRPCNotification // nil: the client has not subscribed to the inbox
}

type subscriptionKey struct{} // context key of the request's *subscription

func (h *host) newSubscription(root string, end func()) *subscription {
	s := &subscription{host: h, progress: newProgress(), root: root, number: h.listeners.Add(1), end: end}
	s.put = 1
	return s
}

func (s *subscription) opened() uint64 { return s.number }

// isBell reports whether c2c can ring here: mcp-go has acknowledged the subscription, and the subscription includes the inbox.
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
	s.advance(s.written + 1) // no other goroutine changes s.written
	if s.written == 1 {
		s.changes.notify(s.root)
	}
}

// Ring notifies the client that its inbox has changed. It returns nil when the notification is flushed.
func (s *subscription) Ring(ctx context.Context, n wake.Notice) error {
	number, err := s.add(func() int {
		select {
		case s.notes <- tools.InboxChanged(n):
			return s.put + 1
		default:
			return 0
		}
	})
	if err != nil {
		return err
	}
	return s.await(ctx, number)
}
