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

// bell sends MCP's notification that the inbox has changed, without any text of a message, on one
// stream. The writer of the stream takes the notification from a channel.
type bell struct {
	number uint64        // later streams have higher numbers
	gone   chan struct{} // closed: the stream has ended

	mu      sync.Mutex
	notes   chan<- mcp.JSONRPCNotification // nil: the client has not subscribed to the inbox
	put     int                            // how many notifications were put into the stream
	written int                            // how many the kernel has taken
	moved   chan struct{}                  // closed and replaced when written changes
}

func newBell(number uint64) bell {
	return bell{number: number, gone: make(chan struct{}), moved: make(chan struct{})}
}

func (b *bell) opened() uint64 { return b.number }

var errBusy = fmt.Errorf("%w: the previous notification is not written yet", wake.ErrUncaptured)

// Ring returns nil when the kernel has taken the notification. If the previous notification still
// waits to be written, it returns errBusy.
func (b *bell) Ring(ctx context.Context, n wake.Notice) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case <-b.gone:
		return errEndedStream
	default:
	}
	if b.put > b.written {
		return errBusy
	}
	select {
	case b.notes <- tools.InboxChanged(n):
		b.put++
	default:
		return errBusy
	}
	return b.await(ctx, b.put)
}

var errEndedStream = fmt.Errorf("%w: its stream has ended", wake.ErrUnreachable)

// wrote records that the kernel has taken one more notification. It returns how many it has taken.
func (b *bell) wrote() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.written++
	close(b.moved)
	b.moved = make(chan struct{})
	return b.written
}

// await waits until so many notifications are written. The caller holds the lock, which await
// releases while it waits.
func (b *bell) await(ctx context.Context, number int) error {
	for b.written < number {
		moved := b.moved
		b.mu.Unlock()
		var err error
		select {
		case <-moved:
		case <-b.gone:
			err = errEndedStream
		case <-ctx.Done():
			err = fmt.Errorf("%w: %w", wake.ErrUncaptured, ctx.Err())
		}
		b.mu.Lock()
		if err != nil {
			return err
		}
	}
	return nil
}

// listener is the open stream of an MCP session, and so the session's bell. c2c sends pings on the
// stream, and the client must answer them, because a connection may look open long after its other
// end has gone.
type listener struct {
	bell
	name  string                       // part of the ids of the stream's pings
	queue chan mcp.JSONRPCNotification // from Ring

	over chan struct{} // closed: the stream must end
	end  func()        // closes over

	pings    sync.Mutex // guards the fields below
	quiet    int        // number of pings since the client last answered one
	answered bool       // the client has answered a ping
}

func newListener(number uint64) *listener {
	l := &listener{bell: newBell(number), name: rand.Text(), queue: make(chan mcp.JSONRPCNotification, 1), over: make(chan struct{})}
	l.notes = l.queue
	l.end = sync.OnceFunc(func() { close(l.over) })
	return l
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
	return out.Send(sse.Event{Data: b})
}

const pingName = "c2c-ping-"

// pingAnswered takes the id of a request that the client has answered. If the request was a ping of
// this stream, pingAnswered records the answer. The result first is true for the first answered
// ping of the stream.
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

// silence explains why c2c cannot ring on the stream; "" means that it can.
func (l *listener) silence() string {
	if l.isAnswered() {
		return ""
	}
	return "the client has a stream of events open, but has not answered the ping there: mail waits until the client calls a tool"
}
