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

// progress counts the bells that were put into a stream of events, and the events that were written, so Ring knows when to return.
type progress struct {
	gone chan struct{} // closed: the stream has ended

	mu      sync.Mutex
	put     int           // the number of the last bell
	written int           // the number of the last event that is written
	moved   chan struct{} // closed when written changes
}

func newProgress() progress { return progress{gone: make(chan struct{}), moved: make(chan struct{})} }

var errBusy = fmt.Errorf("%w: the ring before it is not written yet", wake.ErrUncaptured)

// add puts a bell into the stream, unless the previous one is not written yet. put returns its number, 0 if the stream takes none.
func (p *progress) add(put func() int) (number int, err error) {
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
	if number = put(); number == 0 {
		return 0, errBusy
	}
	p.put = number
	return number, nil
}

// advance records which event is written.
func (p *progress) advance(written int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.written = written
	close(p.moved)
	p.moved = make(chan struct{})
}

// await waits until the bell with this number is written.
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

// listener is a client that reads the open stream of its session. c2c pings it there to see that it still reads: a connection may
// look open long after its other end has gone.
type listener struct {
	progress
	name   string // part of the ids of its pings
	number uint64 // see opened
	events *stream

	over chan struct{} // closed: the stream must end
	end  func()        // closes over

	pings    sync.Mutex // guards the fields below
	quiet    int        // pings since the client has last answered one
	answered bool       // the client has answered a ping
}

func newListener(number uint64) *listener {
	l := &listener{progress: newProgress(), name: rand.Text(), number: number, over: make(chan struct{})}
	l.end = sync.OnceFunc(func() { close(l.over) })
	return l
}

func (l *listener) opened() uint64 { return l.number }

// catchUp sends the events that are not sent yet. more is closed when there is another one.
func (l *listener) catchUp(out *sse.Stream) (more <-chan struct{}, err error) {
	n := l.written // no other goroutine changes it
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

// mostQuiet is how many pings in a row a client may leave unanswered.
const mostQuiet = 2

// ping sends a ping, or returns ErrStalled if the client has left too many unanswered.
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
	return out.Send(sse.Event{Data: b}) // without an id, so no client can ask for it again
}

const pingName = "c2c-ping-"

// pingAnswered notes the answer with this id. first reports whether it is the first answer to a ping of this stream.
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

// Ring sends the standard's notification that the inbox has changed; it has no text of any message. nil means that the client's
// kernel has it. A client that has lost the stream gets it again.
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

// silence explains why mail cannot ring on the stream; "": it can.
func (l *listener) silence() string {
	if l.isAnswered() {
		return ""
	}
	return "the client has a stream of events open, and has not answered the ping there: mail waits for its next call of a tool"
}
