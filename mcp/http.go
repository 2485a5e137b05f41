package mcp

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"c2c/internal/daemon"
	"c2c/mcp/rpc"
	"c2c/mcp/tools"
	"c2c/wake"
)

// HTTP answers requests to the MCP path. Up to revision 2025-11-25 it implements the transport
// Streamable HTTP itself, because it must know which events a stream carried and which answers
// arrived. The library mcp-go answers requests of later revisions. Any number of goroutines may use
// it.
type HTTP struct {
	*host
	sessions  *sessionTable
	stateless *stateless
	sweeper   sync.WaitGroup
	closing   atomic.Bool
}

// NewHTTP makes the handler; Close ends it.
func NewHTTP(cfg HTTPConfig) *HTTP {
	t := tools.NewTools(cfg.Config)
	cfg.Config = t.Cfg
	srv := t.Server(&server.Hooks{}, server.WithResourceCapabilities(true, false))
	t.AddInbox(srv)
	h := &HTTP{host: newHost(cfg, srv)}
	h.sessions = &sessionTable{host: h.host, byID: map[string]*httpSession{}}
	h.stateless = newStateless(h.host, t)
	h.sweeper.Go(func() { daemon.SurviveLoop(h.ctx, cfg.Log, "forget MCP sessions", h.sweepNowAndThen) })
	return h
}

// Close ends the streams, waits for the requests under way, at most until ctx ends, and closes the
// sessions. The records of the sessions stay on disk, so the next start can revive the sessions.
func (h *HTTP) Close(ctx context.Context) error {
	h.closing.Store(true)
	all := h.sessions.snapshot()
	for _, s := range all {
		s.hangUp()
	}
	answered := make(chan struct{})
	go func() { h.sessions.busy.End(); close(answered) }()
	var err error
	select {
	case <-answered:
	case <-ctx.Done():
		err = fmt.Errorf("end the MCP sessions: %w", ctx.Err())
	}
	h.stop(rpc.ErrStopping)
	for _, s := range all {
		s.end(rpc.ErrStopping)
	}
	h.stateless.close()
	h.sweeper.Wait()
	return err
}

// How often the transport forgets unused sessions, and sessions of ended clients.
const (
	sweepEvery = time.Minute
	goneEvery  = 2 * time.Second // the transport notices the end of a client at most this much later
)

// sweepNowAndThen forgets sessions that are idle for too long or whose client has ended, until
// Close is called.
func (h *HTTP) sweepNowAndThen() {
	tick, gone := time.NewTicker(sweepEvery), time.NewTicker(goneEvery)
	defer tick.Stop()
	defer gone.Stop()
	for {
		select {
		case <-gone.C:
			h.sessions.dropEnded()
			h.stateless.peers.sweep()
		case <-tick.C:
			h.sessions.sweep()
		case <-h.ctx.Done():
			return
		}
	}
}

// ServeHTTP answers a request. The caller has checked that the client may send requests.
func (h *HTTP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// A write deadline stays in force for later requests on the same connection, so clear it.
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
	case rpc.IsStateless(r.Header.Get(mcp.HeaderProtocolVersion)):
		w.Header().Set("Allow", "POST")
		http.Error(w, "this revision of MCP has neither sessions nor streams: use POST", http.StatusMethodNotAllowed)
	case !knowsVersion(w, r):
	case r.Method == http.MethodGet:
		h.get(w, r)
	default:
		h.remove(w, r)
	}
}

// knowsVersion reports whether a request names no revision, or a revision that c2c knows. If not,
// it answers with an error. The revision may differ from that of the session, because MCP's
// conformance suite sends such requests.
func knowsVersion(w http.ResponseWriter, r *http.Request) bool {
	version := r.Header.Get(mcp.HeaderProtocolVersion)
	if version == "" || slices.Contains(mcp.LegacyProtocolVersions(), version) {
		return true
	}
	http.Error(w, "unsupported MCP-Protocol-Version", http.StatusBadRequest)
	return false
}

func (h *HTTP) post(w http.ResponseWriter, r *http.Request) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		http.Error(w, "Content-Type must be application/json", http.StatusUnsupportedMediaType)
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
	a := &answer{host: h.host, w: w, r: r}
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
		if s, leave := h.sessions.enter(w, r); s != nil {
			defer leave()
			s.take(a, m, body)
		}
	}
}

// initialize makes a session and answers with its id.
func (h *HTTP) initialize(a *answer, m rpc.Message) {
	s := h.sessions.newSession(rand.Text())
	resp, _ := tools.Handle(s.context(s.ctx, nil), h.cfg.Log, h.srv, m)
	if _, ok := resp.(mcp.JSONRPCResponse); !ok {
		s.end(errNoSession)
		a.json(http.StatusOK, resp)
		return
	}
	if h.sessions.add(s) == nil {
		s.end(errNoSession)
		sayLater(a.w, errFull.Error())
		return
	}
	a.w.Header().Set(server.HeaderKeySessionID, s.id)
	a.json(http.StatusOK, resp)
}

// remove ends a session at its client's request (DELETE).
func (h *HTTP) remove(w http.ResponseWriter, r *http.Request) {
	if s := h.sessions.find(w, r); s != nil {
		h.sessions.drop(s, errEnded, true)
		w.WriteHeader(http.StatusOK)
	}
}

// get opens the stream of a session.
func (h *HTTP) get(w http.ResponseWriter, r *http.Request) {
	s, leave := h.sessions.enter(w, r)
	if s == nil {
		return
	}
	defer leave()
	s.listen(w, r)
}

type numberedBell interface {
	wake.Doorbell
	opened() uint64 // the number of the stream; later streams have higher numbers
}

// mailboxes calls do for each client that has a mailbox, with the root of the mailbox, and the bell
// of the client; nil: it has none.
func (h *HTTP) mailboxes(do func(sid, root string, bell numberedBell)) {
	for _, s := range h.sessions.snapshot() {
		if sid := s.peer.Session(); sid != "" {
			do(sid, s.rootNow(), s.bell())
		}
	}
	for _, p := range h.stateless.peers.bound() {
		do(p.Session(), p.root, p.bell())
	}
}

// Streams returns the bells of a root, by the id of c2c's session. A client has a bell if it
// answers pings on an open stream, or if it subscribes to its inbox. The method Ring of a bell
// returns when the notification is written. Several connections share a mailbox if their calls name
// the same session. Then mail rings on the newest stream.
func (h *HTTP) Streams(root string) map[string]wake.Doorbell {
	bells := map[string]wake.Doorbell{}
	h.mailboxes(func(sid, in string, bell numberedBell) {
		if old, _ := bells[sid].(numberedBell); bell != nil && in == root && (old == nil || old.opened() < bell.opened()) {
			bells[sid] = bell
		}
	})
	return bells
}

// Surfaces counts the clients that have a mailbox. It returns how many of them have a bell (full),
// and how many have none (degraded).
func (h *HTTP) Surfaces() (full, degraded int) {
	h.mailboxes(func(_, _ string, bell numberedBell) {
		if bell != nil {
			full++
		} else {
			degraded++
		}
	})
	return full, degraded
}

// Moved receives a value when the result of Streams or Roots may have changed. The channel has room
// for one value.
func (h *HTTP) Moved() <-chan struct{} { return h.moved }

// Roots returns the roots in which clients have a mailbox, sorted.
func (h *HTTP) Roots() (roots []string) {
	for _, s := range h.sessions.snapshot() {
		if kept, _ := s.record(); kept.Root != "" {
			roots = append(roots, kept.Root)
		}
	}
	for _, p := range h.stateless.peers.bound() {
		roots = append(roots, p.root)
	}
	slices.Sort(roots)
	return slices.Compact(roots)
}
