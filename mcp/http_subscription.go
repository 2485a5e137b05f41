package mcp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"

	"c2c/mcp/rpc"
	"c2c/mcp/tools"
	"c2c/sessions"
	"c2c/sessions/callers"
	"c2c/wake"
)

// subscription is a subscriptions/listen (2026-07-28) that is open: the bell of a client without a session. mcp-go writes what is
// put into notes, each with one flush; its acknowledgement is the first.
type subscription struct {
	p      *statelessPeer
	number uint64 // a later one has a higher one
	conn   net.Conn
	end    func()
	gone   chan struct{}                  // closed: it has ended
	notes  chan<- mcp.JSONRPCNotification // nil: the client does not ask for the inbox

	mu      sync.Mutex
	put     int // bells, and the acknowledgement
	written int
	moved   chan struct{} // closed when written has changed
}

type subscriptionKey struct{} // in the context of a request

// wantsInbox says whether a client asks to be told of its mail.
func wantsInbox(req *mcp.SubscriptionsListenRequest) bool {
	return slices.Contains(req.Params.Notifications.ResourceSubscriptions, tools.InboxURI)
}

// subscribe begins a subscription. The newest one stays: the client may not know yet that it has lost the other.
func (p *statelessPeer) subscribe(conn net.Conn, end func()) *subscription {
	s := &subscription{p: p, number: p.m.h.nextListener(), conn: conn, end: end, put: 1, gone: make(chan struct{}), moved: make(chan struct{})}
	p.mu.Lock()
	old := p.listening
	p.listening = s
	p.mu.Unlock()
	if old != nil {
		old.end()
	}
	return s
}

func (p *statelessPeer) unsubscribe(s *subscription) {
	close(s.gone)
	p.mu.Lock()
	if p.listening == s {
		p.listening = nil
	}
	p.mu.Unlock()
	p.m.h.tellChange(p.root)
}

// find looks for the session that the process has already, from before the daemon was started. It makes none.
func (p *statelessPeer) find(ctx context.Context) {
	if p.Session() != "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, tools.EarlyWait)
	defer cancel()
	b, err := p.Open()
	if err != nil {
		return // the first tool call says so
	}
	if s, err := callers.Resolve(ctx, b.Registry, callers.Caller{Remote: true, Transport: sessions.TransportHTTP, PID: p.Process()}); err == nil {
		p.Remember(b, s)
	}
}

// bell is the subscription that has been acknowledged, nil if there is none, or not for the inbox.
func (p *statelessPeer) bell() *subscription {
	p.mu.Lock()
	s := p.listening
	p.mu.Unlock()
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.written == 0 || s.notes == nil { // notes is set before anything is written
		return nil
	}
	return s
}

// silence says why mail does not ring, "" if it does.
func (p *statelessPeer) silence() string {
	if p.bell() != nil {
		return ""
	}
	return "the client does not listen (subscriptions/listen for " + tools.InboxURI + "): mail waits for its next call of a tool"
}

// wrote is told that the client's kernel was given what is to be written, or why not.
func (s *subscription) wrote(err error) {
	if err != nil {
		s.end()
		return
	}
	s.mu.Lock()
	s.written++
	first := s.written == 1
	close(s.moved)
	s.moved = make(chan struct{})
	s.mu.Unlock()
	if first {
		s.p.m.h.tellChange(s.p.root)
	}
}

// Ring tells the client that its inbox has changed. nil says that the client's kernel has it.
func (s *subscription) Ring(ctx context.Context, n wake.Notice) error {
	number, err := s.add(n)
	if err != nil {
		return err
	}
	for {
		s.mu.Lock()
		written, moved := s.written, s.moved
		s.mu.Unlock()
		if written >= number {
			break
		}
		select {
		case <-moved:
		case <-s.gone:
			return fmt.Errorf("%w: its stream has ended", wake.ErrUnreachable)
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", wake.ErrUncaptured, ctx.Err())
		}
	}
	err = tcpAcked(ctx, s.conn, s.p.m.h.limits.Write)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, rpc.ErrStalled) || ctx.Err() != nil:
		return fmt.Errorf("%w: %v", wake.ErrUncaptured, err)
	}
	s.end()
	return fmt.Errorf("%w: %v", wake.ErrUnreachable, err)
}

// add puts a bell into the stream, unless one is there that is not written.
func (s *subscription) add(n wake.Notice) (number int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.gone:
		return 0, fmt.Errorf("%w: its stream has ended", wake.ErrUnreachable)
	default:
	}
	if s.put > s.written {
		return 0, fmt.Errorf("%w: the ring before it is not written yet", wake.ErrUncaptured)
	}
	select {
	case s.notes <- tools.InboxChanged(n):
		s.put++
		return s.put, nil
	default:
		return 0, fmt.Errorf("%w: the ring before it is not written yet", wake.ErrUncaptured)
	}
}
