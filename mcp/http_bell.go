package mcp

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"

	"c2c/mcp/rpc"
	"c2c/mcp/tools"
	"c2c/sse"
	"c2c/wake"
)

// listener is a client on the stream that its session has open. Pings on the stream show that the client still reads: a connection may
// look open long after its other end has gone.
type listener struct {
	name   string // its pings are called by it
	number uint64 // see opened
	events *stream

	over chan struct{} // closed: it is to end
	end  func()        // closes over
	gone chan struct{} // closed: it has ended

	mu       sync.Mutex
	sent     int           // the last event that is written
	rung     int           // the last event that is a bell of this listener
	moved    chan struct{} // closed when sent has changed
	quiet    int           // pings since the last one that was answered
	answered bool          // a ping was
}

func newListener(number uint64) *listener {
	l := &listener{name: rand.Text(), number: number, over: make(chan struct{}), gone: make(chan struct{}), moved: make(chan struct{})}
	l.end = sync.OnceFunc(func() { close(l.over) })
	return l
}

func (l *listener) opened() uint64 { return l.number }

// catchUp sends what is not sent yet. more is closed when there is something again.
func (l *listener) catchUp(out *sse.Stream) (more <-chan struct{}, err error) {
	n := l.sent // nobody else writes it
	events, more := l.events.after(n)
	for _, data := range events {
		n++
		if err := out.Send(sse.Event{ID: l.events.id(n), Data: data}); err != nil {
			return nil, err
		}
		l.mu.Lock()
		l.sent = n
		close(l.moved)
		l.moved = make(chan struct{})
		l.mu.Unlock()
	}
	return more, nil
}

// mostQuiet is how many pings in a row may stay without an answer.
const mostQuiet = 2

// ping asks the client whether it is there, or says that it is not.
func (l *listener) ping(out *sse.Stream) error {
	l.mu.Lock()
	if l.quiet >= mostQuiet {
		l.mu.Unlock()
		return rpc.ErrStalled
	}
	l.quiet++
	id := pingName + l.name + "-" + strconv.Itoa(l.quiet)
	l.mu.Unlock()
	b, err := json.Marshal(map[string]any{"jsonrpc": mcp.JSONRPC_VERSION, "id": id, "method": mcp.MethodPing})
	if err != nil {
		return err
	}
	return out.Send(sse.Event{Data: b}) // without an id: it is not to be sent again
}

const pingName = "c2c-ping-"

// pingAnswered takes the id of an answer from the client. first: it is the first one to a ping of this stream.
func (l *listener) pingAnswered(id string) (first bool) {
	if !strings.HasPrefix(id, pingName+l.name+"-") {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	first = !l.answered
	l.quiet, l.answered = 0, true
	return first
}

func (l *listener) isAnswered() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.answered
}

// Ring tells the client that its inbox has changed: the standard's way to say so, which has no words of anybody. nil says that
// the client's kernel has it, and that it is sent again to a client which has lost the stream.
func (l *listener) Ring(ctx context.Context, n wake.Notice) error {
	data, err := json.Marshal(tools.InboxChanged(n))
	if err != nil {
		return err
	}
	if l.hasGone() {
		return fmt.Errorf("%w: its stream has ended", wake.ErrUnreachable)
	}
	number := l.add(data)
	if number == 0 {
		return fmt.Errorf("%w: the ring before it is not written yet", wake.ErrUncaptured)
	}
	for {
		sent, moved := l.progress()
		if sent >= number {
			return nil
		}
		select {
		case <-moved:
		case <-l.gone:
			return fmt.Errorf("%w: its stream has ended", wake.ErrUnreachable)
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", wake.ErrUncaptured, ctx.Err())
		}
	}
}

func (l *listener) hasGone() bool {
	select {
	case <-l.gone:
		return true
	default:
		return false
	}
}

// add puts a bell into the stream, unless one is there that is not written: 0.
func (l *listener) add(data []byte) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.rung > l.sent {
		return 0
	}
	l.rung = l.events.add(data)
	return l.rung
}

func (l *listener) progress() (sent int, moved <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sent, l.moved
}

// silence says why the stream has no bell, "" if it has one.
func (l *listener) silence() string {
	if l.isAnswered() {
		return ""
	}
	return "the client has a stream of events open, and has not answered the ping there: mail waits for its next call of a tool"
}
