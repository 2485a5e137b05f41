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

	"c2c/internal/sse"
	"c2c/mcp/rpc"
	"c2c/mcp/tools"
	"c2c/wake"
)

// progress records how many notifications were put into a stream and how many are written, so that Ring knows when to return.
type progress struct {
	gone chan struct{} // closed: the stream has ended

	mu      sync.Mutex
	put     int           // the number of the last notification that was put into the stream
	written int           // the number of the last written event
	moved   chan struct{} // closed and replaced when written changes
}

func newProgress() progress { return progress{gone: make(chan struct{}), moved: make(chan struct{})} }

var errBusy = fmt.Errorf("%w: the previous notification is not written yet", wake.ErrUncaptured)

// add calls the function enqueue, which puts a notification into the stream and returns its number, or 0 if the stream has
// no room. If the previous notification still waits to be written, add returns errBusy instead.
func (p *progress) add(enqueue func() int) (number int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.gone:
		return 0, fmt.Errorf("%w: its stream has ended", wake.ErrUnreachable)
	default:
	}
	if p.put > p.written {
		return 0, errBusy
	}
	if number = enqueue(); number == 0 {
		return 0, errBusy
	}
	p.put = number
	return number, nil
}

// advance records the number of the last written event.
func (p *progress) advance(written int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.written = written
	close(p.moved)
	p.moved = make(chan struct{})
}

// await waits until the notification with this number is written.
func (p *progress) await(ctx context.Context, number int) error {
	for {
		p.mu.Lock()
		written, moved := p.written, p.moved
		p.mu.Unlock()
		if written >= number {
			return nil
		}
		select {
		case <-moved:
		case <-p.gone:
			return fmt.Errorf("%w: its stream has ended", wake.ErrUnreachable)
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", wake.ErrUncaptured, ctx.Err())
		}
	}
}

// listener is the open stream of an MCP session, and so the session's bell. c2c sends pings on the stream, and the client must
// answer them, because a connection may look open long after its other end has gone.
type listener struct {
	progress
	name   string // part of the ids of the stream's pings
	number uint64 // later streams have higher numbers
	events *stream

	over chan struct{} // closed: the stream must end
	end  func()        // closes over

	pings    sync.Mutex // guards the fields below
	quiet    int        // number of pings since the client last answered one
	answered bool       // the client has answered a ping
}

func newListener(number uint64) *listener {
	l := &listener{progress: newProgress(), name: rand.Text(), number: number, over: make(chan struct{})}
	l.end = sync.OnceFunc(func() { close(l.over) })
	return l
}

func (l *listener) opened() uint64 { return l.number }

// catchUp writes the events that still wait to be written. The channel more is closed when another event comes.
func (l *listener) catchUp(out *sse.Stream) (more <-chan struct{}, err error) {
	n := l.written // no other goroutine changes l.written
	events, more := l.events.after(n)
	for _, data := range events {
		n++
		if err := out.Send(sse.Event{ID: l.events.id(n), Data: data}); err != nil {
			return nil, err
		}
		l.advance(n)
	}
	return more, nil
}

// mostQuiet is the number of pings in a row that a client may leave unanswered.
const mostQuiet = 2

// ping sends a ping. It returns ErrStalled if the client has left too many pings unanswered.
func (l *listener) ping(out *sse.Stream) error {
	l.pings.Lock()
	if l.quiet >= mostQuiet {
		l.pings.Unlock()
		return rpc.ErrStalled
	}
	l.quiet++
	id := pingName + l.name + "-" + strconv.Itoa(l.quiet)
	l.pings.Unlock()
	b, err := json.Marshal(map[string]any{"jsonrpc": mcp.JSONRPC_VERSION, "id": id, "method": mcp.MethodPing})
	if err != nil {
		return err
	}
	return out.Send(sse.Event{Data: b}) // an event without an id, so that no client can ask for the ping again
}

const pingName = "c2c-ping-"

// pingAnswered takes the id of a request that the client has answered. If the request was a ping of this stream,
// pingAnswered records the answer. The result first is true for the first answered ping of the stream.
func (l *listener) pingAnswered(id string) (first bool) {
	if !strings.HasPrefix(id, pingName+l.name+"-") {
		return false
	}
	l.pings.Lock()
	defer l.pings.Unlock()
	first = !l.answered
	l.quiet, l.answered = 0, true
	return first
}

func (l *listener) isAnswered() bool {
	l.pings.Lock()
	defer l.pings.Unlock()
	return l.answered
}

// Ring sends MCP's notification that the inbox has changed, without any text of a message. It returns nil when the kernel has
// taken the notification. A client that has lost the connection gets the notification when it reconnects.
func (l *listener) Ring(ctx context.Context, n wake.Notice) error {
	data, err := json.Marshal(tools.InboxChanged(n))
	if err != nil {
		return err
	}
	number, err := l.add(func() int { return l.events.add(data) })
	if err != nil {
		return err
	}
	return l.await(ctx, number)
}

// silence explains why c2c cannot ring on the stream; "" means that it can.
func (l *listener) silence() string {
	if l.isAnswered() {
		return ""
	}
	return "the client has a stream of events open, but has not answered the ping there: mail waits until the client calls a tool"
}
