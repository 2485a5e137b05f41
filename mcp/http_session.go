package mcp

import (
	"context"
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
	"c2c/mcp/rpc"
	"c2c/mcp/tools"
)

// httpSession is one MCP session: a client, from its request initialize on.
type httpSession struct {
	*host
	agreed
	peer *tools.Peer

	ctx  context.Context // ends with the session
	stop context.CancelCauseFunc

	pending sync.Map // the requests under way: *pendingCall by id

	deciding sync.Mutex // held while the method decide runs; mu is not held then, because decide may take a while

	mu       sync.Mutex
	root     string // "" before the first tool call
	rootBy   string
	kept     record // the record on disk; zero: the session has no mailbox
	used     time.Time
	underWay int // number of requests
	ended    bool
	listener *listener // on the open stream; nil: no stream is open
	listened bool      // the session has had a listener
}

func newHTTPSession(h *host, id string) *httpSession {
	s := &httpSession{host: h, agreed: agreed{id: id}, used: h.cfg.Now()}
	s.ctx, s.stop = context.WithCancelCause(h.ctx)
	s.peer = &tools.Peer{Cfg: &h.cfg.Config, Client: tools.Client{Remote: true, Open: func(log inbox.Log) (*broker.Broker, error) {
		return h.cfg.Open(s.rootNow(), log)
	}}, Connection: s.connection}
	return s
}

// oneRequest is the session as the handler of one request sees it: notifications go into the answer
// to that request.
type oneRequest struct {
	*httpSession
	notes chan mcp.JSONRPCNotification
}

func (o oneRequest) NotificationChannel() chan<- mcp.JSONRPCNotification { return o.notes }

// context returns the context for a message of the session. The channel notes receives
// notifications for the client; if it is nil, they are dropped.
func (s *httpSession) context(ctx context.Context, notes chan mcp.JSONRPCNotification) context.Context {
	ctx = s.srv.WithContext(tools.WithPeer(ctx, s.peer), oneRequest{s, notes})
	return server.WithSupportedProtocolVersions(ctx, mcp.LegacyProtocolVersions())
}

func (s *httpSession) rootNow() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.root
}

// decide finds the client's root and process at the first tool call. If the root is gone at a later
// call, decide finds both anew: only cfg.Root, which gets the client's directory from the request,
// makes a root.
func (s *httpSession) decide(r *http.Request) error {
	s.deciding.Lock()
	defer s.deciding.Unlock()
	if root := s.rootNow(); root != "" && !isGone(root) {
		return nil
	}
	root, by, err := s.cfg.Root(r)
	if err != nil {
		return err
	}
	s.peer.SetProcess(s.cfg.Process(r))
	s.mu.Lock()
	s.root, s.rootBy = root, by
	s.mu.Unlock()
	return nil
}

func isGone(root string) bool {
	_, err := os.Stat(root)
	return errors.Is(err, fs.ErrNotExist)
}

// enter counts a request as under way, unless the session has ended, or is full because too many
// requests are under way.
func (s *httpSession) enter() (ended, full bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended || s.underWay >= s.limits.Requests {
		return s.ended, !s.ended
	}
	s.underWay++
	s.used = s.cfg.Now()
	return false, false
}

func (s *httpSession) leave() {
	s.mu.Lock()
	s.underWay--
	s.used = s.cfg.Now()
	last := s.ended && s.underWay == 0
	s.mu.Unlock()
	if last {
		s.peer.Close()
	}
}

// end closes the session. It cancels the requests under way; the last of them closes the session's
// peer.
func (s *httpSession) end(why error) {
	s.mu.Lock()
	before, idle := s.ended, s.underWay == 0
	s.ended = true
	s.mu.Unlock()
	if before {
		return
	}
	s.stop(why)
	if idle {
		s.peer.Close()
	}
	s.bellsMoved()
}

// hangUp ends the open stream, and each tool call that waits for another session.
func (s *httpSession) hangUp() {
	if l := s.openListener(); l != nil {
		l.end()
	}
	s.pending.Range(func(_, p any) bool {
		p.(*pendingCall).hangUp()
		return true
	})
}

// openListener returns the listener on the open stream; nil: no stream is open.
func (s *httpSession) openListener() *listener {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.listener
}

func (s *httpSession) cancelRequest(id string) {
	if p, ok := s.pending.Load(id); ok { // ignore the cancellation of an answered request: some clients send one after each call
		p.(*pendingCall).cancel(rpc.ErrCancelled)
	}
}

// pendingCall is a request under way.
type pendingCall struct {
	cancel context.CancelCauseFunc

	mu      sync.Mutex
	yielded bool // the request waits for another session
	gone    bool // the client no longer waits for the answer
}

// yieldTurn records that the request waits for another session. From then on, the request ends when
// its client hangs up.
func (p *pendingCall) yieldTurn() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.yielded = true; p.gone {
		p.cancel(rpc.ErrHungUp)
	}
}

// hangUp records that the client has hung up. If the request waits for another session, it ends.
// Any other request goes on, because the MCP specification says that a lost connection does not
// cancel a request.
func (p *pendingCall) hangUp() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone = true; p.yielded {
		p.cancel(rpc.ErrHungUp)
	}
}

// accepts reports whether the session accepts a request. While the client's process lives, requests
// of other processes are rejected.
func (s *httpSession) accepts(r *http.Request) bool {
	kept, _ := s.record()
	if kept.PID == 0 || s.hasEnded(kept.process) {
		return true
	}
	pid := s.cfg.Process(r)
	return pid == 0 || pid == kept.PID
}

// record returns the session's record on disk, zero if the session has no mailbox, and the time at
// which the session was last used.
func (s *httpSession) record() (kept record, used time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kept, s.used
}

func (s *httpSession) lastUse() time.Time {
	_, used := s.record()
	return used
}

// forgetMailbox removes the record of the session.
func (s *httpSession) forgetMailbox() {
	s.mu.Lock()
	had := s.kept.ID != ""
	s.kept = record{}
	s.mu.Unlock()
	if !had {
		return
	}
	if err := s.removeRecord(s.id + recordSuffix); err != nil {
		s.cfg.Log.Warn("the record of an ended MCP session stays on disk", "err", err)
	}
}

// canEvict reports whether the session can be evicted: it has no mailbox, and no request is under
// way.
func (s *httpSession) canEvict() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.underWay == 0 && s.kept.ID == ""
}

// presentAfterCall is how long a client without a stream counts as present after its last call.
const presentAfterCall = 10 * time.Minute

// isThere reports whether the client uses this session: a request is under way (an open stream is a
// request), or the client has never opened a stream and its last call is younger than
// presentAfterCall.
func (s *httpSession) isThere() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.underWay > 0 || !s.listened && s.cfg.Now().Sub(s.used) < presentAfterCall
}

// clientEnded reports whether the client's process has ended. c2c knows the process only if the
// session has a mailbox.
func (s *httpSession) clientEnded() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.underWay == 0 && s.kept.ID != "" && s.hasEnded(s.kept.process)
}

func (s *httpSession) isIdle(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	limit := s.limits.Bound
	if s.kept.ID == "" {
		limit = s.limits.Idle
	}
	return s.underWay == 0 && now.Sub(s.used) > limit
}

// connection describes the connection to the session's client.
func (s *httpSession) connection() tools.Connection {
	s.mu.Lock()
	l, by := s.listener, s.rootBy
	s.mu.Unlock()
	noBell := "the client has no stream of events open (GET at the daemon's URL): mail waits until the client calls a tool"
	if l != nil {
		noBell = l.silence()
	}
	c := s.host.connection(noBell, by, s.version())
	c.Session = s.id[:min(len(s.id), tools.ShownID)]
	return c
}
