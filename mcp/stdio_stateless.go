package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"c2c/client"
	"c2c/internal/daemon"
	"c2c/mcp/rpc"
	"c2c/mcp/tools"
	"c2c/wake"
)

// Stateless answers requests of revision 2026-07-28 over standard input and output. It serves only
// clients that c2c does not know, because such a client may support no other revision. Known
// clients do not need it: they begin with initialize. And Claude Code accepts no channel
// notifications from a server with this revision. Config and StdioLimits must point to the same
// Stateless. The zero value is ready.
type Stateless struct {
	// Listens, if set, is called when the client subscribes to its inbox. The function bells
	// returns a map with at most one entry: the id of c2c's session, and the client's bell. The
	// channel changed receives a value when that bell may have changed. If Listens is nil, c2c does
	// not ring.
	Listens func(bells func() map[string]wake.Doorbell, changed <-chan struct{})

	t       *tools.Tools
	make    sync.Once
	srv     *server.MCPServer // made at the first request: most clients never send one
	changed chan struct{}     // has room for one value
	begun   sync.Once

	mu     sync.Mutex
	newest *stdioSubscription // nil: no subscription is open
}

var errReplaced = errors.New("the client has opened another subscription")

// Attach sets the tools.
func (m *Stateless) Attach(t *tools.Tools) {
	m.t, m.changed = t, make(chan struct{}, 1)
}

// answers reports whether m answers a request. It returns true if the request names a revision
// without MCP sessions, and c2c does not know the client.
func (m *Stateless) answers(msg rpc.Message) bool {
	return m != nil && m.t != nil && msg.ID != nil && bytes.Contains(msg.Raw, []byte(mcp.MetaKeyProtocolVersion)) &&
		rpc.IsStateless(msg.Version()) && !m.knows(msg)
}

// knows reports whether c2c knows the client of a request by its name: the name in c2c's own
// configuration, or the name that the client gives itself.
func (m *Stateless) knows(msg rpc.Message) bool {
	_, configured := client.Find(m.t.Cfg.Client)
	_, named := client.ByInfo(msg.ClientName())
	return configured || named
}

func (m *Stateless) mcpServer() *server.MCPServer {
	m.make.Do(func() {
		hooks := &server.Hooks{}
		hooks.AddBeforeCallTool(func(ctx context.Context, _ any, _ *mcp.CallToolRequest) { m.begin(ctx) })
		hooks.AddAfterCallTool(func(context.Context, any, *mcp.CallToolRequest, any) { daemon.Poke(m.changed) }) // the client may have a session now
		hooks.AddBeforeReadResource(func(ctx context.Context, _ any, _ *mcp.ReadResourceRequest) { m.begin(ctx) })
		hooks.AddBeforeSubscriptionsListen(func(ctx context.Context, _ any, req *mcp.SubscriptionsListenRequest) {
			m.begin(ctx)
			m.t.Only.RegisterEarly(ctx)
			if l, ok := server.ClientSessionFromContext(ctx).(*stdioSubscription); ok {
				l.wants = tools.WantsInbox(req)
			}
		})
		hooks.AddAfterSubscriptionsListen(func(ctx context.Context, _ any, _ *mcp.SubscriptionsListenRequest, _ *mcp.SubscriptionsListenResult) {
			if l, ok := server.ClientSessionFromContext(ctx).(*stdioSubscription); ok {
				<-l.passed // if nothing is subscribed, the request ends at once
			}
		})
		m.srv = m.t.Server(hooks, server.WithResourceCapabilities(true, false))
		m.t.AddInbox(m.srv)
	})
	return m.srv
}

// begin does the work that initialize causes in older revisions. The requests server/discover and
// tools/list do not cause it, because clients start throw-away copies of their servers only to send
// these two.
func (m *Stateless) begin(ctx context.Context) {
	m.begun.Do(func() {
		m.t.Only.SetProtocol(server.RequestProtocolVersion(ctx))
		if m.t.Cfg.Initialized != nil {
			m.t.Cfg.Initialized(m.t.Only.ClientOf(ctx))
		}
	})
}

// adopt prepares a request so that the server of this revision answers it.
func (m *Stateless) adopt(r *request, session *server.InProcessSession) {
	var s server.ClientSession = session
	if r.Method == string(mcp.MethodSubscriptionsListen) {
		s = m.listen(r, session)
	}
	r.srv = m.mcpServer()
	r.ctx = server.WithSupportedProtocolVersions(r.srv.WithContext(r.ctx, s), mcp.ValidProtocolVersions)
}

// stdioSubscription is an open request subscriptions/listen. mcp-go passes it to the handler of
// this request as the client's MCP session.
type stdioSubscription struct {
	*server.InProcessSession
	acks   chan mcp.JSONRPCNotification // gets mcp-go's acknowledgement of the request
	passed chan struct{}                // closed: the acknowledgement was passed on to the client, or the request has ended
	id     json.RawMessage              // the request's id; every notification carries it
	wants  bool                         // the subscription includes the inbox
	end    context.CancelCauseFunc
	ctx    context.Context // the request's context
}

func (l *stdioSubscription) NotificationChannel() chan<- mcp.JSONRPCNotification { return l.acks }

// listen makes the subscription of a request. Its bell can ring only after the acknowledgement.
func (m *Stateless) listen(r *request, session *server.InProcessSession) *stdioSubscription {
	l := &stdioSubscription{InProcessSession: session, acks: make(chan mcp.JSONRPCNotification, 1), passed: make(chan struct{}), id: r.ID, end: r.cancel, ctx: r.ctx}
	go func() {
		defer close(l.passed)
		select {
		case ack := <-l.acks:
			select {
			case session.NotificationChannel() <- ack:
				m.open(l)
			case <-l.ctx.Done():
			}
		case <-l.ctx.Done():
		}
	}()
	return l
}

// open makes l the client's bell and ends an older subscription.
func (m *Stateless) open(l *stdioSubscription) {
	m.mu.Lock()
	old := m.newest
	m.newest = l
	m.mu.Unlock()
	if old != nil {
		old.end(errReplaced)
	}
	daemon.Poke(m.changed)
	if l.wants && m.Listens != nil {
		m.Listens(m.bells, m.changed)
	}
	context.AfterFunc(l.ctx, func() {
		m.mu.Lock()
		if m.newest == l {
			m.newest = nil
		}
		m.mu.Unlock()
		daemon.Poke(m.changed)
	})
}

// bells returns a map from the id of c2c's session to the client's bell; nil if the client has not
// subscribed or has no such session.
func (m *Stateless) bells() map[string]wake.Doorbell {
	m.mu.Lock()
	defer m.mu.Unlock()
	sid := m.t.Only.Session()
	if m.newest == nil || !m.newest.wants || sid == "" {
		return nil
	}
	return map[string]wake.Doorbell{sid: m.newest}
}

// Ring queues the notification for the client and returns nil. It returns an error if the
// subscription has ended or the client does not read.
func (l *stdioSubscription) Ring(ctx context.Context, n wake.Notice) error {
	select {
	case <-l.ctx.Done():
		return fmt.Errorf("%w: the client has ended its subscription", wake.ErrUnreachable)
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", wake.ErrUncaptured, ctx.Err())
	default:
	}
	note := tools.InboxChanged(n)
	if note.Params.Meta == nil {
		note.Params.Meta = map[string]any{}
	}
	note.Params.Meta[mcp.MetaKeySubscriptionID] = l.id
	select {
	case l.InProcessSession.NotificationChannel() <- note:
		return nil
	default:
		return fmt.Errorf("%w: the client does not read notifications", wake.ErrUncaptured)
	}
}
