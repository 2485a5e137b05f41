package mcp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"

	"c2c/mcp/rpc"
	"c2c/mcp/tools"
	"c2c/wake"
)

// subscription is a subscriptions/listen (2026-07-28) that is open: the bell of a client without a session. mcp-go writes what is
// put into notes, each with one flush; its acknowledgement is the first.
type subscription struct {
	*host
	root   string
	number uint64 // see opened
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

func (h *host) newSubscription(root string, conn net.Conn, end func()) *subscription {
	return &subscription{host: h, root: root, number: h.listeners.Add(1), conn: conn, end: end, put: 1, gone: make(chan struct{}), moved: make(chan struct{})}
}

func (s *subscription) opened() uint64 { return s.number }

// isBell reports whether mail rings here: the subscription has been acknowledged, and is for the inbox.
func (s *subscription) isBell() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.written > 0 && s.notes != nil // notes is set before anything is written
}

// onFlush is called when the kernel has taken what was to be written, or with the reason why not.
func (s *subscription) onFlush(err error) {
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
		s.changes.tell(s.root)
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
	err = tcpAcked(ctx, s.conn, s.limits.Write)
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
