package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"c2c/broker"
	"c2c/broker/httpd/underway"
	"c2c/broker/procstat"
	"c2c/inbox"
)

// modern answers requests of 2026-07-28 and later, by mcp-go. That revision has no session, and no place for a bell: who calls
// is known by its process alone, or by what the call says.
type modern struct {
	h       *HTTP
	handler *server.StreamableHTTPServer

	busy  underway.Requests
	mu    sync.Mutex
	peers map[string]*modernPeer // by process and root
}

// modernPeer is a process that calls.
type modernPeer struct {
	*peer
	m      *modern
	pid    int
	start  int64
	used   time.Time
	active int // its requests
}

const mostModern = 64 // processes that are known at a time

func newModern(h *HTTP, t *tools) *modern {
	m := &modern{h: h, peers: map[string]*modernPeer{}}
	hooks := &server.Hooks{}
	// A client that can choose comes with initialize: then it has a session, and a bell.
	hooks.AddAfterDiscover(func(_ context.Context, _ any, _ *mcp.DiscoverRequest, res *mcp.DiscoverResult) {
		res.SupportedVersions = mcp.LegacyProtocolVersions()
	})
	srv := t.server(hooks, server.WithResourceCapabilities(false, false), server.WithToolHandlerMiddleware(noteFailure))
	t.addInbox(srv)
	m.handler = server.NewStreamableHTTPServer(srv, server.WithStateLess(true), server.WithDisableLocalhostProtection(true)) // the guard checks the host
	return m
}

// noteFailure notes in the settlement that an answer tells of an error: the transport does not see it.
func noteFailure(next server.ToolHandlerFunc) server.ToolHandlerFunc {
	return func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		s, ok := ctx.Value(afterWrite{}).(*settlement)
		if !ok {
			return next(ctx, req)
		}
		s.failed = errors.New("the tool has not ended")
		res, err := next(ctx, req)
		s.failed = err
		if err == nil && (res == nil || res.IsError) {
			s.failed = errors.New("answered with a tool error")
		}
		return res, err
	}
}

// version is the protocol version that a message names in its _meta.
func (m message) version() string {
	var head struct {
		Params struct {
			Meta map[string]json.RawMessage `json:"_meta"`
		} `json:"params"`
	}
	var version string
	if json.Unmarshal(m.raw, &head) == nil {
		_ = json.Unmarshal(head.Params.Meta[mcp.MetaKeyProtocolVersion], &version) // what is no text names none
	}
	return version
}

// serve answers a request whose body was read.
func (m *modern) serve(w http.ResponseWriter, r *http.Request, msg message, body []byte) {
	if !m.busy.Begin() {
		sayLater(w, errStopping.Error())
		return
	}
	defer m.busy.Done()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(m.h.ctx, cancel)()
	if msg.method == string(mcp.MethodToolsCall) || msg.method == string(mcp.MethodResourcesRead) {
		p, err := m.enter(r)
		if err != nil {
			a := &answer{h: m.h, w: w, r: r}
			a.json(http.StatusOK, refuse(msg.id, mcp.INVALID_REQUEST, err.Error()))
			return
		}
		defer p.leave()
		ctx = withPeer(ctx, p.peer)
	}
	ctx, settlement := withSettlement(ctx)
	body, stands := standIn(body, msg.id)
	out := &noting{ResponseWriter: w, control: http.NewResponseController(w), limit: m.h.limits.Write, stands: stands, id: msg.id}
	r = r.WithContext(ctx)
	r.Body = io.NopCloser(bytes.NewReader(body))
	m.handler.ServeHTTP(out, r)
	ended := ctx.Err() // then mcp-go has written no answer, and tells nobody
	if errors.Is(context.Cause(m.h.ctx), errStopping) && !out.wrote {
		sayLater(out, errStopping.Error())
	}
	if settlement.done == nil {
		return
	}
	out.Flush()
	err := errors.Join(settlement.failed, ended, out.err)
	if err == nil {
		err = arrived(r.Context(), m.h.cfg.Conn(r), m.h.limits.Write)
	}
	settlement.end(err)
}

// enter gives the peer of the process that calls. What is opened for it stays open for its next call.
func (m *modern) enter(r *http.Request) (*modernPeer, error) {
	pid := m.h.cfg.Process(r)
	if pid == 0 {
		return nil, errors.New("c2c cannot see which process calls, and this revision of MCP has no session: use 2025-11-25, beginning with initialize")
	}
	root, by, err := m.h.cfg.Root(r)
	if err != nil {
		return nil, fmt.Errorf("find out which project this client works in: %w", err)
	}
	start := int64(0)
	if p, err := procstat.Read(pid); err == nil {
		start = p.Start
	}
	key := strconv.Itoa(pid) + " " + strconv.FormatInt(start, 10) + " " + root
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.peers[key]
	if p == nil && len(m.peers) >= mostModern && !m.makeRoom() {
		return nil, errors.New("too many clients at once; try again")
	}
	if p == nil {
		p = &modernPeer{m: m, pid: pid, start: start}
		p.peer = &peer{cfg: &m.h.cfg.Config, desk: noDesk{m.h}, guest: Guest{Remote: true, Process: pid, Open: func(log inbox.Log) (*broker.Broker, error) {
			return m.h.cfg.Open(root, log)
		}}, connection: func() connection {
			return m.h.connection("this revision of MCP has no stream on which mail could ring", by, mcp.ProtocolVersion20260728)
		}}
		m.peers[key] = p
	}
	p.active++
	return p, nil
}

func (p *modernPeer) leave() {
	p.m.mu.Lock()
	defer p.m.mu.Unlock()
	p.active--
	p.used = p.m.h.cfg.Now()
}

// makeRoom gives up the process that has not called for longest.
func (m *modern) makeRoom() bool {
	oldest := ""
	for key, p := range m.peers {
		if p.active == 0 && (oldest == "" || p.used.Before(m.peers[oldest].used)) {
			oldest = key
		}
	}
	if oldest == "" {
		return false
	}
	m.peers[oldest].close()
	delete(m.peers, oldest)
	return true
}

// sweep gives up processes that have ended, or have not called for long.
func (m *modern) sweep() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, p := range m.peers {
		if p.active == 0 && (hasEnded(p.pid, p.start) || m.h.cfg.Now().Sub(p.used) > m.h.limits.Bound) {
			p.close()
			delete(m.peers, key)
		}
	}
}

// close waits for the requests under way, which the end of the transport cancels.
func (m *modern) close() {
	m.busy.End()
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, p := range m.peers {
		p.close()
		delete(m.peers, key)
	}
}

// noDesk is the desk of clients without a session: the process is all that is known of them.
type noDesk struct{ h *HTTP }

func (noDesk) taken(string) bool        { return false }
func (noDesk) bound(string, bool) error { return nil }
func (d noDesk) one() func() {
	d.h.first.Lock()
	return d.h.first.Unlock
}

// noting notes whether anything is written, and the first error of that, which mcp-go only logs, and bounds each write.
type noting struct {
	http.ResponseWriter
	control *http.ResponseController
	limit   time.Duration
	err     error
	wrote   bool // something of an answer

	stands []byte // for the id of the request; nil: nothing does
	id     []byte
}

func (n *noting) WriteHeader(status int) {
	n.wrote = true
	n.ResponseWriter.WriteHeader(status)
}

func (n *noting) Write(b []byte) (int, error) {
	n.wrote = true
	n.bound()
	told := b
	if n.stands != nil {
		told = bytes.ReplaceAll(b, n.stands, n.id) // mcp-go writes a message at once
	}
	written, err := n.ResponseWriter.Write(told)
	n.note(err)
	if err == nil {
		written = len(b)
	}
	return written, err
}

// Flush is what mcp-go calls.
func (n *noting) Flush() {
	n.bound()
	n.note(n.control.Flush())
}

func (n *noting) bound() {
	if err := n.control.SetWriteDeadline(time.Now().Add(n.limit)); !errors.Is(err, http.ErrNotSupported) {
		n.note(err)
	}
}

func (n *noting) note(err error) {
	if n.err == nil {
		n.err = err
	}
}
