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

// progress counts what was put into a stream of events and what of it is written, so that a bell knows when it has rung.
type progress struct {
	gone chan struct{} // closed: the stream has ended

	mu      sync.Mutex
	put     int           // the number of the last bell
	written int           // the number of the last event that is written
	moved   chan struct{} // closed when written has changed
}

func newProgress() progress { return progress{gone: make(chan struct{}), moved: make(chan struct{})} }

var errBusy = fmt.Errorf("%w: the ring before it is not written yet", wake.ErrUncaptured)

// add puts a bell into the stream, unless the one before it is not written yet. put returns its number, 0 if the stream takes none.
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

// advance says which event is written.
func (p *progress) advance(written int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.written = written
	close(p.moved)
	p.moved = make(chan struct{})
}

// await waits until a bell is written.
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

// listener is a client on the stream that its session has open. Pings on the stream show that the client still reads: a connection may
// look open long after its other end has gone.
type listener struct {
	progress
	name   string // its pings are called by it
	number uint64 // see opened
	events *stream

	over chan struct{} // closed: it is to end
	end  func()        // closes over

	pings    sync.Mutex // guards the fields below
	quiet    int        // pings since the last one that was answered
	answered bool       // a ping was
}

func newListener(number uint64) *listener {
	l := &listener{progress: newProgress(), name: rand.Text(), number: number, over: make(chan struct{})}
	l.end = sync.OnceFunc(func() { close(l.over) })
	return l
}

func (l *listener) opened() uint64 { return l.number }

// catchUp sends what is not sent yet. more is closed when there is something again.
func (l *listener) catchUp(out *sse.Stream) (more <-chan struct{}, err error) {
	n := l.written // nobody else writes it
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

// mostQuiet is how many pings in a row may stay without an answer.
const mostQuiet = 2

// ping asks the client whether it is there, or says that it is not.
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
	return out.Send(sse.Event{Data: b}) // without an id: it is not to be sent again
}

const pingName = "c2c-ping-"

// pingAnswered takes the id of an answer from the client. first: it is the first one to a ping of this stream.
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

// Ring tells the client that its inbox has changed: the standard's way to say so, which has no words of anybody. nil says that
// the client's kernel has it, and that it is sent again to a client that has lost the stream.
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

// silence says why the stream has no bell, "" if it has one.
func (l *listener) silence() string {
	if l.isAnswered() {
		return ""
	}
	return "the client has a stream of events open, and has not answered the ping there: mail waits for its next call of a tool"
}
