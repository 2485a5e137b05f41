package mcp

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"c2c/broker"
	"c2c/inbox"
	"c2c/mcp/tools"
)

// httpSession is one MCP session: a client from its initialize on.
type httpSession struct {
	h *HTTP
	agreed
	peer *tools.Peer

	ctx  context.Context // ends with the session
	stop context.CancelCauseFunc
	gate chan struct{} // holds one while a tool call runs

	pending sync.Map // what cancels a request, by its id

	deciding sync.Mutex // not mu: it may take a while
	decided  bool       // its root and process were asked for

	mu       sync.Mutex
	root     string // "" before
	rootBy   string
	kept     record // what stands on disk; zero: nothing
	used     time.Time
	requests int           // under way
	busy     chan struct{} // closed when none of these is any more
	waiting  int           // tool calls that wait for the gate
	ended    bool
	listener *listener // the stream that is open; nil: none
	listened bool      // it had one
	bells    *stream   // what was sent on it

	streams requestStreams
}

// newSessionID is 128 random bits.
func newSessionID() string {
	id := make([]byte, 16)
	_, _ = rand.Read(id) // it never fails
	return hex.EncodeToString(id)
}

func isSessionID(id string) bool {
	b, err := hex.DecodeString(id)
	return err == nil && len(b) == 16 && hex.EncodeToString(b) == id
}

func (h *HTTP) newSession(id string) *httpSession {
	s := &httpSession{h: h, agreed: agreed{id: id}, gate: make(chan struct{}, 1), used: h.cfg.Now()}
	s.ctx, s.stop = context.WithCancelCause(h.ctx)
	s.peer = &tools.Peer{Cfg: &h.cfg.Config, Others: s, Client: tools.Client{Remote: true, Open: func(log inbox.Log) (*broker.Broker, error) {
		return h.cfg.Open(s.rootNow(), log)
	}}, Connection: s.connection}
	return s
}

// oneRequest is the session as one request sees it: what is sent in its course goes into its own answer.
type oneRequest struct {
	*httpSession
	notes chan mcp.JSONRPCNotification
}

func (o oneRequest) NotificationChannel() chan<- mcp.JSONRPCNotification { return o.notes }

// context is that of a message of the session. notes takes what is sent to the client meanwhile; nil: nobody does.
func (s *httpSession) context(ctx context.Context, notes chan mcp.JSONRPCNotification) context.Context {
	ctx = s.h.srv.WithContext(tools.WithPeer(ctx, s.peer), oneRequest{s, notes})
	return server.WithSupportedProtocolVersions(ctx, mcp.LegacyProtocolVersions())
}

func (s *httpSession) rootNow() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.root
}

// decide asks once in which root the client works, and which process it is. It asks again when somebody has removed the root:
// only a request that names the client's directory makes a root.
func (s *httpSession) decide(r *http.Request) error {
	s.deciding.Lock()
	defer s.deciding.Unlock()
	if s.decided && !isGone(s.rootNow()) {
		return nil
	}
	root, by, err := s.h.cfg.Root(r)
	if err != nil {
		return err
	}
	s.peer.Is(s.h.cfg.Process(r))
	s.mu.Lock()
	s.root, s.rootBy = root, by
	s.mu.Unlock()
	s.decided = true
	return nil
}

func isGone(root string) bool {
	_, err := os.Stat(root)
	return errors.Is(err, fs.ErrNotExist)
}

// enter finds the session of a request and counts that, or answers why not.
func (h *HTTP) enter(w http.ResponseWriter, r *http.Request) (s *httpSession, leave func()) {
	if s = h.find(w, r); s == nil {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ended:
		sayGone(w)
		return nil, nil
	case s.requests >= h.limits.Requests:
		http.Error(w, "too many requests of this session at once", http.StatusTooManyRequests)
		return nil, nil
	}
	if s.requests == 0 {
		s.busy = make(chan struct{})
	}
	s.requests++
	s.used = h.cfg.Now()
	return s, s.leave
}

func (s *httpSession) leave() {
	s.mu.Lock()
	s.requests--
	s.used = s.h.cfg.Now()
	last := s.ended && s.requests == 0
	if s.requests == 0 {
		close(s.busy)
	}
	s.mu.Unlock()
	if last {
		s.peer.Close()
	}
}

// waits counts a tool call that is to wait for its turn, unless too many do.
func (s *httpSession) waits() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting >= s.h.limits.Calls {
		return false
	}
	s.waiting++
	return true
}

// goesOn is called when a tool call has its turn.
func (s *httpSession) goesOn() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting--
}

// free is closed when no request is under way; nil: none is.
func (s *httpSession) free() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.requests == 0 {
		return nil
	}
	return s.busy
}

// end gives up the session. Requests under way are cancelled, and the last of them closes what is open.
func (s *httpSession) end(why error) {
	s.mu.Lock()
	was := s.ended
	s.ended = true
	free := s.requests == 0
	s.mu.Unlock()
	if was {
		return
	}
	s.stop(why)
	if free {
		s.peer.Close()
	}
	s.h.tellChange(s.rootNow())
}

// hang ends the stream, and lets the calls that wait for somebody else end.
func (s *httpSession) hang() {
	s.mu.Lock()
	l := s.listener
	s.mu.Unlock()
	if l != nil {
		l.end()
	}
	s.pending.Range(func(_, p any) bool {
		p.(*pendingCall).hangUp()
		return true
	})
}

func (s *httpSession) cancelRequest(id string) {
	if p, ok := s.pending.Load(id); ok { // else it was answered before, and some clients say so after each call
		p.(*pendingCall).cancel(errCancelled)
	}
}

// answeredID gives the id of the request of ours that a message answers, "" if it is none.
func answeredID(body []byte) string {
	var head struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	var id string
	if json.Unmarshal(body, &head) != nil || head.Method != "" || json.Unmarshal(head.ID, &id) != nil {
		return ""
	}
	return id
}
