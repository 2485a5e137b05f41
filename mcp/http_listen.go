package mcp

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"c2c/mcp/rpc"
	"c2c/mcp/tools"
	"c2c/sessions"
	"c2c/sse"
	"c2c/wake"
)

// listener is the stream that a session has open. Pings on it show that the client still reads: a connection may look open
// long after its other end has gone.
type listener struct {
	s      *httpSession
	name   string // its pings are called by it
	events *stream
	number uint64 // a later one has a higher one

	over chan struct{} // closed: it is to end
	end  func()        // closes over
	gone chan struct{} // closed: it has ended

	mu       sync.Mutex
	sent     int           // the last event that is written
	rung     int           // the last event that is a bell of this listener
	moved    chan struct{} // closed when sent has changed
	quiet    int           // pings since the last one that was answered
	answered bool          // one ping was
}

// listen opens the stream of a session. The newest one stays, as the client may not have noticed yet that it has lost the
// other one.
func (s *httpSession) listen(w http.ResponseWriter, r *http.Request) {
	l := &listener{s: s, name: rand.Text(), over: make(chan struct{}), gone: make(chan struct{}), moved: make(chan struct{})}
	l.end = sync.OnceFunc(func() { close(l.over) })
	l.number = s.h.nextListener()
	s.open(l, r.Header.Get(mcp.HeaderLastEventID))
	defer s.left(l)
	defer close(l.gone)
	out, err := sse.Start(w, r, s.h.limits.Write)
	if err == nil && s.startsWithEvent() {
		err = out.Send(sse.Event{ID: l.events.id(l.sent), Data: []byte{}, Retry: retry})
	}
	if err == nil {
		err = l.ping(out)
	}
	tick := time.NewTicker(s.h.limits.Ping)
	defer tick.Stop()
	for err == nil {
		more, failed := l.catchUp(out)
		if failed != nil {
			return
		}
		select {
		case <-more:
		case <-tick.C:
			err = l.ping(out)
		case <-l.over:
			return
		case <-r.Context().Done():
			return
		case <-s.ctx.Done():
			return
		}
	}
}

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

// open makes l the stream of the session. It goes on with the events of the one before if the client has lost that and all
// behind its last event are kept; else it has new ones.
func (s *httpSession) open(l *listener, lastEventID string) {
	s.mu.Lock()
	old := s.listener
	name, after, ok := eventID(lastEventID)
	if !ok || s.bells == nil || s.bells.name != name || !s.bells.has(after) {
		s.bells, after = newStream(keptBells), 0
	}
	l.events, l.sent, l.rung = s.bells, after, after
	s.listener, s.listened = l, true
	s.mu.Unlock()
	if old != nil {
		old.end()                   // it may hang in a write, and is not waited for
		s.h.tellChange(s.rootNow()) // its bell rings no more
	}
}

func (s *httpSession) left(l *listener) {
	s.mu.Lock()
	if s.listener == l {
		s.listener = nil
	}
	s.mu.Unlock()
	s.h.tellChange(s.rootNow())
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

// pingAnswered takes the answer to a ping of the stream that is open.
func (s *httpSession) pingAnswered(id string) {
	s.mu.Lock()
	l := s.listener
	s.mu.Unlock()
	if l == nil || !strings.HasPrefix(id, pingName+l.name+"-") {
		return
	}
	l.mu.Lock()
	first := !l.answered
	l.quiet, l.answered = 0, true
	l.mu.Unlock()
	if first {
		s.h.tellChange(s.rootNow())
	}
}

// bell is that of the stream, if there is one whose client has answered there.
func (s *httpSession) bell() (*listener, bool) {
	s.mu.Lock()
	l := s.listener
	s.mu.Unlock()
	if l == nil {
		return nil, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l, l.answered
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

func (h *HTTP) nextListener() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.listeners++
	return h.listeners
}

// connection is one over HTTP.
func (h *HTTP) connection(noBell, rootBy, protocol string) tools.Connection {
	return tools.Connection{Transport: sessions.TransportHTTP, Why: tools.HttpWhy, Protocol: protocol, RootBy: rootBy, URL: h.cfg.URL, NoBell: noBell}
}

func (s *httpSession) connection() tools.Connection {
	s.mu.Lock()
	l, by := s.listener, s.rootBy
	s.mu.Unlock()
	noBell := "the client has no stream of events open (GET at the daemon's URL): mail waits for its next call of a tool"
	if l != nil {
		noBell = l.silence()
	}
	c := s.h.connection(noBell, by, s.version())
	c.Session = s.id[:min(len(s.id), tools.ShownID)]
	return c
}

// silence says why the stream has no bell, "" if it has one.
func (l *listener) silence() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.answered {
		return ""
	}
	return "the client has a stream of events open, and has not answered the ping there: mail waits for its next call of a tool"
}
