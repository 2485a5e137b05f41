package mcp

import (
	"bytes"
	"context"
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
	"c2c/client"
	"c2c/inbox"
	"c2c/mcp/rpc"
	"c2c/mcp/tools"
	"c2c/process/procstat"
	"c2c/serve/underway"
)

// stateless answers requests of 2026-07-28 and later, by mcp-go. That revision has no session: a caller is known by its process
// alone, or by what the call says. Its bell is a subscriptions/listen, see subscription.
type stateless struct {
	h       *HTTP
	handler *server.StreamableHTTPServer

	busy  underway.Requests
	mu    sync.Mutex
	peers map[string]*statelessPeer // by process and root
}

// statelessPeer is a process that calls.
type statelessPeer struct {
	*tools.Peer
	m      *stateless
	root   string
	pid    int
	start  int64
	used   time.Time
	active int // its requests

	mu        sync.Mutex
	listening *subscription // nil: it has none
	told      string        // the session that the ringers were told of
}

const mostStateless = 64 // processes that are known at a time

func newStateless(h *HTTP, t *tools.Tools) *stateless {
	m := &stateless{h: h, peers: map[string]*statelessPeer{}}
	hooks := &server.Hooks{}
	hooks.AddAfterDiscover(func(ctx context.Context, _ any, _ *mcp.DiscoverRequest, res *mcp.DiscoverResult) {
		if seen, _ := ctx.Value(seenKey{}).(bool); !seen || hasSessions(ctx) {
			res.SupportedVersions = mcp.LegacyProtocolVersions()
		}
	})
	hooks.AddBeforeSubscriptionsListen(func(ctx context.Context, _ any, req *mcp.SubscriptionsListenRequest) {
		if s, ok := ctx.Value(subscriptionKey{}).(*subscription); ok && wantsInbox(req) {
			s.notes = server.ClientSessionFromContext(ctx).NotificationChannel()
		}
	})
	srv := t.Server(hooks, server.WithResourceCapabilities(true, false), server.WithToolHandlerMiddleware(noteFailure))
	t.AddInbox(srv)
	m.handler = server.NewStreamableHTTPServer(srv, server.WithStateLess(true), server.WithDisableLocalhostProtection(true)) // the guard checks the host
	return m
}

type seenKey struct{} // in the context of a request: whether the process behind it can be seen

// hasSessions says whether a client is one of those that come with initialize when they may: there it has a session, and what
// wakes it is tried. All that we know do. One that we do not know may have no other revision than this, and nothing in its
// request tells.
func hasSessions(ctx context.Context) bool {
	info := server.RequestProtocolInfoFromContext(ctx)
	if info == nil || info.ClientInfo == nil {
		return false
	}
	_, known := client.ByInfo(info.ClientInfo.Name)
	return known
}

// noteFailure keeps that an answer tells of an error, for the report to the handler: the transport does not see it.
func noteFailure(next server.ToolHandlerFunc) server.ToolHandlerFunc {
	return func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		s, ok := ctx.Value(tools.WrittenKey{}).(*tools.Written)
		if !ok {
			return next(ctx, req)
		}
		s.Failed = errors.New("the tool has not ended")
		res, err := next(ctx, req)
		s.Failed = err
		if err == nil && (res == nil || res.IsError) {
			s.Failed = errors.New("answered with a tool error")
		}
		return res, err
	}
}

// serve answers a request whose body was read.
func (m *stateless) serve(w http.ResponseWriter, r *http.Request, msg rpc.Message, body []byte) {
	if !m.busy.Begin() {
		sayLater(w, rpc.ErrStopping.Error())
		return
	}
	defer m.busy.Done()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(m.h.ctx, cancel)()
	if msg.Method == string(mcp.MethodServerDiscover) {
		ctx = context.WithValue(ctx, seenKey{}, m.h.cfg.Process(r) != 0)
	}
	listens := msg.Method == string(mcp.MethodSubscriptionsListen) && msg.ID != nil
	var p *statelessPeer
	if listens || msg.Method == string(mcp.MethodToolsCall) || msg.Method == string(mcp.MethodResourcesRead) {
		var err error
		p, err = m.enter(r)
		if err != nil {
			a := &answer{h: m.h, w: w, r: r}
			a.json(http.StatusOK, rpc.Refuse(msg.ID, mcp.INVALID_REQUEST, err.Error()))
			return
		}
		defer p.leave()
		ctx = tools.WithPeer(ctx, p.Peer)
	}
	ctx, written := tools.WithWritten(ctx)
	body, stands := standIn(body, msg.ID)
	out := &noting{ResponseWriter: w, control: http.NewResponseController(w), limit: m.h.limits.Write, stands: stands, id: msg.ID}
	if listens {
		standing, leave := m.h.cfg.Stand(r)
		if leave == nil {
			sayLater(w, "too many streams are open")
			return
		}
		defer leave()
		defer context.AfterFunc(standing, cancel)()
		s := p.subscribe(m.h.cfg.Conn(r), cancel)
		defer p.unsubscribe(s)
		ctx, out.flushed = context.WithValue(ctx, subscriptionKey{}, s), s.wrote
		p.find(ctx)
	}
	r = r.WithContext(ctx)
	r.Body = io.NopCloser(bytes.NewReader(body))
	m.handler.ServeHTTP(out, r)
	ended := ctx.Err() // then mcp-go has written no answer, and tells nobody
	if errors.Is(context.Cause(m.h.ctx), rpc.ErrStopping) && !out.wrote {
		sayLater(out, rpc.ErrStopping.Error())
	}
	if written.Done == nil {
		return
	}
	out.Flush()
	err := errors.Join(written.Failed, ended, out.err)
	if err == nil {
		err = tcpAcked(r.Context(), m.h.cfg.Conn(r), m.h.limits.Write)
	}
	written.Report(err)
}

// enter gives the peer of the process that calls. What is opened for it stays open for its next call.
func (m *stateless) enter(r *http.Request) (*statelessPeer, error) {
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
	if p == nil && len(m.peers) >= mostStateless && !m.makeRoom() {
		return nil, errors.New("too many clients at once; try again")
	}
	if p == nil {
		p = &statelessPeer{m: m, root: root, pid: pid, start: start}
		p.Peer = &tools.Peer{Cfg: &m.h.cfg.Config, Others: p, Client: tools.Client{Remote: true, Process: pid, Open: func(log inbox.Log) (*broker.Broker, error) {
			return m.h.cfg.Open(root, log)
		}}, Connection: func() tools.Connection {
			return m.h.connection(p.silence(), by, mcp.ProtocolVersion20260728)
		}}
		m.peers[key] = p
	}
	p.active++
	return p, nil
}

func (p *statelessPeer) leave() {
	p.m.mu.Lock()
	defer p.m.mu.Unlock()
	p.active--
	p.used = p.m.h.cfg.Now()
}

// makeRoom gives up the process that has not called for longest.
func (m *stateless) makeRoom() bool {
	oldest := ""
	for key, p := range m.peers {
		if p.active == 0 && (oldest == "" || p.used.Before(m.peers[oldest].used)) {
			oldest = key
		}
	}
	if oldest == "" {
		return false
	}
	m.drop(oldest)
	return true
}

// sweep gives up processes that have ended, or have not called for long.
func (m *stateless) sweep() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, p := range m.peers {
		if p.active == 0 && (hasEnded(p.pid, p.start) || m.h.cfg.Now().Sub(p.used) > m.h.limits.Bound) {
			m.drop(key)
		}
	}
}

// drop gives up a process. It is called with the lock.
func (m *stateless) drop(key string) {
	p := m.peers[key]
	delete(m.peers, key)
	p.Close()
	m.h.tellChange(p.root)
}

// bound gives the processes that have a mailbox.
func (m *stateless) bound() (all []*statelessPeer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range m.peers {
		if p.Session() != "" {
			all = append(all, p)
		}
	}
	return all
}

// close waits for the requests under way, which the end of the transport cancels.
func (m *stateless) close() {
	m.busy.End()
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, p := range m.peers {
		p.Close()
		delete(m.peers, key)
	}
}

// The process is all that is known of a client without a session: so it knows of no other client.
func (p *statelessPeer) Taken(string) bool { return false }

// Bound has the ringers know of the session.
func (p *statelessPeer) Bound(sid string, _ bool) error {
	p.mu.Lock()
	is := p.told == sid
	p.told = sid
	p.mu.Unlock()
	if !is {
		p.m.h.tellChange(p.root)
	}
	return nil
}

func (p *statelessPeer) One() func() {
	p.m.h.first.Lock()
	return p.m.h.first.Unlock
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

	flushed func(error) // is told of each flush; nil: nobody is
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
	if n.flushed != nil {
		n.flushed(n.err)
	}
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
