package mcp

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"c2c/client"
	"c2c/internal/daemon"
	"c2c/mcp/rpc"
	"c2c/mcp/tools"
)

// stateless answers requests of revision 2026-07-28 and later, by means of mcp-go. These revisions
// have no MCP sessions: c2c knows a caller only by its process or by an id in the call. The
// client's bell is an open request subscriptions/listen, see subscription.
type stateless struct {
	*host
	handler *server.StreamableHTTPServer
	peers   *statelessPeers
	busy    daemon.Underway
}

func newStateless(h *host, t *tools.Tools) *stateless {
	m := &stateless{host: h, peers: &statelessPeers{host: h, byKey: map[string]*statelessPeer{}}}
	hooks := &server.Hooks{}
	hooks.AddAfterDiscover(func(ctx context.Context, _ any, _ *mcp.DiscoverRequest, res *mcp.DiscoverResult) {
		if seen, _ := ctx.Value(seenKey{}).(bool); !seen || hasSessions(ctx) {
			res.SupportedVersions = mcp.LegacyProtocolVersions()
		}
	})
	hooks.AddBeforeSubscriptionsListen(func(ctx context.Context, _ any, req *mcp.SubscriptionsListenRequest) {
		if s, ok := ctx.Value(subscriptionKey{}).(*subscription); ok && tools.WantsInbox(req) {
			s.listensBy(server.ClientSessionFromContext(ctx).NotificationChannel())
		}
	})
	hooks.AddAfterSubscriptionsListen(func(ctx context.Context, _ any, _ *mcp.SubscriptionsListenRequest, _ *mcp.SubscriptionsListenResult) {
		if s, ok := ctx.Value(subscriptionKey{}).(*subscription); ok {
			s.awaitAck(ctx) // mcp-go drops the acknowledgement if the request ends first: at once, if c2c offers nothing that the client asks for
		}
	})
	srv := t.Server(hooks, server.WithResourceCapabilities(true, false), server.WithToolHandlerMiddleware(noteFailure))
	t.AddInbox(srv)
	m.handler = server.NewStreamableHTTPServer(srv, server.WithStateLess(true), server.WithDisableLocalhostProtection(true)) // package serve checks the host
	return m
}

type seenKey struct{} // context key of a bool: whether c2c can see the caller's process

// hasSessions reports whether a client would fall back to initialize if c2c refused this revision.
// After initialize the client has a session, and tests show that mail wakes such a client. All
// clients that c2c knows fall back. An unknown client may support only this revision, and its
// request does not show which revisions it supports.
func hasSessions(ctx context.Context) bool {
	info := server.RequestProtocolInfoFromContext(ctx)
	if info == nil || info.ClientInfo == nil {
		return false
	}
	_, known := client.ByInfo(info.ClientInfo.Name)
	return known
}

// noteFailure records, in the request's tools.Written, the error that an answer reports. The
// transport cannot see it in another way.
func noteFailure(next server.ToolHandlerFunc) server.ToolHandlerFunc {
	return func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		s := tools.WrittenOf(ctx)
		s.Failed = errors.New("the tool has not ended")
		res, err := next(ctx, req)
		s.Failed = err
		if err == nil && (res == nil || res.IsError) {
			s.Failed = errors.New("answered with a tool error")
		}
		return res, err
	}
}

// serve answers a request whose body the caller has read.
func (m *stateless) serve(w http.ResponseWriter, r *http.Request, msg rpc.Message, body []byte) {
	if !m.busy.Begin() {
		sayLater(w, rpc.ErrStopping.Error())
		return
	}
	defer m.busy.Done()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(m.ctx, cancel)()
	if msg.Method == string(mcp.MethodServerDiscover) {
		ctx = context.WithValue(ctx, seenKey{}, m.cfg.Process(r) != 0)
	}
	listens := msg.Method == string(mcp.MethodSubscriptionsListen) && msg.ID != nil
	var p *statelessPeer
	if listens || msg.Method == string(mcp.MethodToolsCall) || msg.Method == string(mcp.MethodResourcesRead) {
		var err error
		p, err = m.peers.enter(r)
		if err != nil {
			a := &answer{host: m.host, w: w, r: r}
			a.json(http.StatusOK, rpc.Refuse(msg.ID, mcp.INVALID_REQUEST, err.Error()))
			return
		}
		defer p.leave()
		ctx = tools.WithPeer(ctx, p.Peer)
	}
	ctx, written := tools.WithWritten(ctx)
	out := &checkedWriter{ResponseWriter: w, control: http.NewResponseController(w), limit: m.limits.Write}
	if listens {
		standing, leave := m.cfg.CountStream(r)
		if leave == nil {
			sayLater(w, "too many streams are open")
			return
		}
		defer leave()
		defer context.AfterFunc(standing, cancel)()
		s := p.subscribe(cancel)
		defer p.unsubscribe(s)
		ctx, out.flushed = context.WithValue(ctx, subscriptionKey{}, s), s.onFlush
		p.findSession(ctx)
	}
	r = r.WithContext(ctx)
	r.Body = io.NopCloser(bytes.NewReader(body))
	m.handler.ServeHTTP(out, r)
	ended := ctx.Err() // if the context has ended, mcp-go has written no answer, and reports no error
	if errors.Is(context.Cause(m.ctx), rpc.ErrStopping) && !out.wrote {
		sayLater(out, rpc.ErrStopping.Error())
	}
	if written.Reports == nil {
		return
	}
	out.Flush()
	written.Report(errors.Join(written.Failed, ended, out.err))
}

// close waits for the requests under way. The caller has ended their context.
func (m *stateless) close() {
	m.busy.End()
	m.peers.close()
}
