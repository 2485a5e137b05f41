package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"mime"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"c2c/broker"
	"c2c/inbox"
	"c2c/inbox/atomicfile"
	"c2c/mcp/rpc"
	"c2c/mcp/tools"
	"c2c/process/survive"
	"c2c/wake"
)

// HTTPConfig is what the tools need over Streamable HTTP. Of Config only LockWait, Progress, Log and Uninstalled are used: a client
// is known by its requests.
type HTTPConfig struct {
	tools.Config
	// Root gives the root of a request, and how it was chosen. A client is asked once, at its first call.
	Root func(*http.Request) (root, by string, err error)
	URL  string // at which clients find this handler
	// Open opens a root for one client, which closes it.
	Open func(root string, log inbox.Log) (*broker.Broker, error)
	// Process is the client's process, 0 if it cannot be seen.
	Process func(*http.Request) int
	// Conn is the connection of a request, nil if it is not known: then an answer counts as written when it is flushed.
	Conn func(*http.Request) net.Conn
	// Stand counts a request as one that only tells what happens, see serve.Stand; nil: nobody counts.
	Stand    func(*http.Request) (ctx context.Context, leave func())
	Sessions *atomicfile.Dir // keeps which mailbox an MCP session has
	Limits   HTTPLimits
	Now      func() time.Time // nil is time.Now
}

// HTTPLimits bound what clients can make the transport hold or wait for. Zero fields mean the values named here.
type HTTPLimits struct {
	Body     int64         // bytes of one message; 2 MiB, since 256 KiB of text may be 1.5 MiB of JSON
	Sessions int           // 256
	Calls    int           // tool calls of a session that wait for the one that runs; 16
	Requests int           // of a session at once; 64
	Write    time.Duration // until the client has what was written; 10 s
	Ping     time.Duration // between two pings on a stream; 15 s
	Idle     time.Duration // until a session without a mailbox is forgotten; 30 min
	Bound    time.Duration // the same with a mailbox, while its process lives; 24 h
	Kept     time.Duration // how long the events of a request are kept behind its answer; 60 s
}

func (l HTTPLimits) withDefaults() HTTPLimits {
	return HTTPLimits{
		cmp.Or(l.Body, 2<<20), cmp.Or(l.Sessions, 256), cmp.Or(l.Calls, 16), cmp.Or(l.Requests, 64),
		cmp.Or(l.Write, 10*time.Second), cmp.Or(l.Ping, 15*time.Second),
		cmp.Or(l.Idle, 30*time.Minute), cmp.Or(l.Bound, 24*time.Hour), cmp.Or(l.Kept, time.Minute),
	}
}

// HTTP answers the MCP path: Streamable HTTP up to 2025-11-25 by itself, because what a stream carried and which answer arrived
// must be known; later revisions by mcp-go. It may be used by any number of goroutines.
type HTTP struct {
	cfg       HTTPConfig
	limits    HTTPLimits
	srv       *server.MCPServer
	stateless *stateless

	ctx  context.Context // ends when Close is called
	stop context.CancelCauseFunc
	done sync.WaitGroup // the sweeper

	first sync.Mutex // see otherClients.One

	closing atomic.Bool

	mu        sync.Mutex
	sessions  map[string]*httpSession
	changed   map[string]chan struct{} // by root
	listeners uint64                   // that were opened

	moved chan struct{} // holds one: changed of some root was told
}

// NewHTTP makes the handler; Close ends it.
func NewHTTP(cfg HTTPConfig) *HTTP {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Conn == nil {
		cfg.Conn = func(*http.Request) net.Conn { return nil }
	}
	if cfg.Stand == nil {
		cfg.Stand = func(r *http.Request) (context.Context, func()) { return r.Context(), func() {} }
	}
	h := &HTTP{cfg: cfg, limits: cfg.Limits.withDefaults(), sessions: map[string]*httpSession{}, changed: map[string]chan struct{}{}, moved: make(chan struct{}, 1)}
	h.ctx, h.stop = context.WithCancelCause(context.Background())
	t := &tools.Tools{Cfg: cfg.Config}
	h.srv = t.Server(&server.Hooks{}, server.WithResourceCapabilities(true, false))
	t.AddInbox(h.srv)
	h.stateless = newStateless(h, t)
	h.done.Go(func() { survive.Loop(h.ctx, cfg.Log, "forget MCP sessions", h.sweepNowAndThen) })
	return h
}

// Close ends the streams, waits for the answers under way until ctx ends, and gives up the sessions. What is bound on disk
// stays there for the next start.
func (h *HTTP) Close(ctx context.Context) error {
	h.closing.Store(true)
	all := h.all()
	for _, s := range all {
		s.hang()
	}
	err := h.idle(ctx)
	h.stop(rpc.ErrStopping)
	for _, s := range all {
		s.end(rpc.ErrStopping)
	}
	h.stateless.close()
	h.done.Wait()
	return err
}

// idle waits until no request of a session is under way.
func (h *HTTP) idle(ctx context.Context) error {
	for _, s := range h.all() {
		free := s.free()
		if free == nil {
			continue
		}
		select {
		case <-free:
		case <-ctx.Done():
			return fmt.Errorf("end the MCP sessions: %w", ctx.Err())
		}
	}
	return nil
}

// all gives the sessions, in no order. Their own locks are never taken under that of the table.
func (h *HTTP) all() []*httpSession {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Values(h.sessions))
}

// ServeHTTP answers a request. The caller has checked that its sender may send one.
func (h *HTTP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// The connection may be used for other requests, and a deadline stays with it.
	defer http.NewResponseController(w).SetWriteDeadline(time.Time{})
	w.Header().Set("Cache-Control", "no-store")
	switch {
	case h.closing.Load():
		sayLater(w, rpc.ErrStopping.Error())
	case r.Method == http.MethodPost:
		h.post(w, r)
	case r.Method != http.MethodGet && r.Method != http.MethodDelete:
		w.Header().Set("Allow", "GET, POST, DELETE")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
	case isStateless(r.Header.Get(mcp.HeaderProtocolVersion)):
		w.Header().Set("Allow", "POST")
		http.Error(w, "this revision of MCP has no sessions and no streams of them", http.StatusMethodNotAllowed)
	case !knowsVersion(w, r):
	case r.Method == http.MethodGet:
		h.get(w, r)
	default:
		h.remove(w, r)
	}
}

// knowsVersion refuses a request of a revision that nobody knows. Any that we know may be named, also another one than the
// session has: the conformance suite does that.
func knowsVersion(w http.ResponseWriter, r *http.Request) bool {
	version := r.Header.Get(mcp.HeaderProtocolVersion)
	if version == "" || slices.Contains(mcp.LegacyProtocolVersions(), version) {
		return true
	}
	http.Error(w, "unsupported MCP-Protocol-Version", http.StatusBadRequest)
	return false
}

// isStateless says whether a version is one of those that mcp-go answers.
func isStateless(version string) bool {
	return mcp.IsModernProtocol(version) && mcp.IsValidProtocolVersion(version)
}

// sayLater refuses what may work in a moment.
func sayLater(w http.ResponseWriter, why string) {
	w.Header().Set("Retry-After", "1")
	http.Error(w, why, http.StatusServiceUnavailable)
}

func (h *HTTP) post(w http.ResponseWriter, r *http.Request) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		http.Error(w, "Content-Type is to be application/json", http.StatusUnsupportedMediaType)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, h.limits.Body))
	if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
		http.Error(w, fmt.Sprintf("message longer than %d bytes", h.limits.Body), http.StatusRequestEntityTooLarge)
		return
	}
	if err != nil {
		http.Error(w, "the body did not arrive", http.StatusBadRequest)
		return
	}
	a := &answer{h: h, w: w, r: r}
	if rpc.IsBatch(body) {
		h.postBatch(a, body)
		return
	}
	m, refusal := rpc.Parse(body)
	switch {
	case refusal != nil:
		a.json(http.StatusBadRequest, refusal)
	case mcp.IsModernProtocol(r.Header.Get(mcp.HeaderProtocolVersion)) || mcp.IsModernProtocol(m.Version()):
		h.stateless.serve(w, r, m, body)
	case !knowsVersion(w, r):
	case m.Method == string(mcp.MethodInitialize) && m.ID != nil:
		h.initialize(a, m)
	default:
		if s, leave := h.enter(w, r); s != nil {
			defer leave()
			s.take(a, []rpc.Item{{Message: m, Body: body}}, false)
		}
	}
}

// postBatch answers a batch, under the revision that has them.
func (h *HTTP) postBatch(a *answer, body []byte) {
	all, refusal := rpc.ParseBatch(body)
	named := a.r.Header.Get(mcp.HeaderProtocolVersion)
	switch {
	case refusal == nil && named != "" && named != rpc.BatchVersion:
		refusal = rpc.RefuseBatch(named)
	case refusal == nil:
		s, leave := h.enter(a.w, a.r)
		if s == nil {
			return
		}
		defer leave()
		if version := s.version(); version == rpc.BatchVersion {
			s.take(a, all, true)
			return
		}
		refusal = rpc.RefuseBatch(s.version())
	}
	a.json(http.StatusBadRequest, refusal)
}

// take answers the messages of a POST. What one cancels may stand before it in the same batch.
func (s *httpSession) take(a *answer, all []rpc.Item, batch bool) {
	asked := requests{batch: batch}
	for _, it := range all {
		cancelled := it.Cancelled()
		switch {
		case it.Refusal != nil:
			asked.list = append(asked.list, refused(it.Message, it.Refusal))
		case it.Method == "":
			s.pingAnswered(answeredID(it.Body))
		case cancelled != "":
			s.cancelRequest(cancelled)
		case it.ID == nil:
			_, _ = tools.Handle(s.context(s.ctx, nil), s.h.cfg.Log, s.h.srv, it.Message, nil) // a notification has no answer, right or wrong
		default:
			asked.list = append(asked.list, s.begin(it.Message))
		}
	}
	if len(asked.list) == 0 {
		a.w.WriteHeader(http.StatusAccepted)
		return
	}
	s.answer(a, asked)
}

// initialize makes a session.
func (h *HTTP) initialize(a *answer, m rpc.Message) {
	s := h.newSession(newSessionID())
	resp, _ := tools.Handle(s.context(s.ctx, nil), h.cfg.Log, h.srv, m, nil)
	if _, ok := resp.(mcp.JSONRPCResponse); !ok {
		s.end(errNoSession)
		a.json(http.StatusOK, resp)
		return
	}
	if h.add(s) == nil {
		s.end(errNoSession)
		sayLater(a.w, errFull.Error())
		return
	}
	a.w.Header().Set(server.HeaderKeySessionID, s.id)
	a.json(http.StatusOK, resp)
}

var errNoSession = errors.New("the session was not made")

// remove ends a session, as its client wants.
func (h *HTTP) remove(w http.ResponseWriter, r *http.Request) {
	if s := h.find(w, r); s != nil {
		h.drop(s, errEnded, true)
		w.WriteHeader(http.StatusOK)
	}
}

var errEnded = errors.New("the client has ended the session")

// get opens the stream of a session, or goes on with that of a request.
func (h *HTTP) get(w http.ResponseWriter, r *http.Request) {
	s, leave := h.enter(w, r)
	if s == nil {
		return
	}
	defer leave()
	if st, after, ok := s.streams.find(r.Header.Get(mcp.HeaderLastEventID)); ok {
		s.resume(w, r, st, after)
		return
	}
	s.listen(w, r)
}

// Streams gives a bell for each session of a root whose client has a stream open and answers there. A bell that is written
// to the client's kernel has rung.
func (h *HTTP) Streams(root string) map[string]wake.Doorbell {
	bells, newest := map[string]wake.Doorbell{}, map[string]uint64{}
	for _, s := range h.all() {
		bell, ok := s.bell()
		sid := s.peer.Session()
		if !ok || sid == "" || s.rootNow() != root {
			continue
		}
		// Two connections may have one mailbox, when each call says whose it is.
		if bells[sid] == nil || newest[sid] < bell.number {
			bells[sid], newest[sid] = bell, bell.number
		}
	}
	for _, p := range h.stateless.bound() {
		bell := p.bell()
		if sid := p.Session(); bell != nil && p.root == root && (bells[sid] == nil || newest[sid] < bell.number) {
			bells[sid], newest[sid] = bell, bell.number
		}
	}
	return bells
}

// Surfaces counts the MCP sessions, and the clients without one, that have a mailbox: full are those whose client has a stream open and
// answers there.
func (h *HTTP) Surfaces() (full, degraded int) {
	for _, s := range h.all() {
		if s.peer.Session() == "" {
			continue
		}
		if _, ok := s.bell(); ok {
			full++
		} else {
			degraded++
		}
	}
	for _, p := range h.stateless.bound() {
		if p.bell() != nil {
			full++
		} else {
			degraded++
		}
	}
	return full, degraded
}

// Changed tells that Streams of a root may give others than before. It holds one.
func (h *HTTP) Changed(root string) <-chan struct{} { return h.changes(root) }

func (h *HTTP) changes(root string) chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.changed[root] == nil {
		h.changed[root] = make(chan struct{}, 1)
	}
	return h.changed[root]
}

func (h *HTTP) tellChange(root string) {
	if root == "" {
		return
	}
	for _, tell := range []chan struct{}{h.changes(root), h.moved} {
		select {
		case tell <- struct{}{}:
		default: // nobody has looked since the one before
		}
	}
}

// Moved tells that Streams of some root may give others than before. It holds one.
func (h *HTTP) Moved() <-chan struct{} { return h.moved }

// Roots gives the roots in which sessions have a mailbox, sorted. Moved tells that they may be others.
func (h *HTTP) Roots() (roots []string) {
	for _, s := range h.all() {
		if root := s.boundIn(); root != "" {
			roots = append(roots, root)
		}
	}
	for _, p := range h.stateless.bound() {
		roots = append(roots, p.root)
	}
	slices.Sort(roots)
	return slices.Compact(roots)
}
