package mcp

import (
	"context"

	"github.com/mark3labs/mcp-go/mcp"

	"c2c/mcp/rpc"
	"c2c/mcp/tools"
)

// httpRequest is the request of a POST, and its answer.
type httpRequest struct {
	rpc.Message
	ctx     context.Context
	call    *pendingCall
	written *tools.Written

	resp mcp.JSONRPCMessage // nil: not handled yet, or cancelled
	err  error
}

// begin adds a request to those under way. If the connection breaks, the work for the request goes
// on.
func (s *httpSession) begin(m rpc.Message) *httpRequest {
	ctx, cancel := context.WithCancelCause(s.ctx)
	q := &httpRequest{Message: m, call: &pendingCall{cancel: cancel}}
	q.ctx, q.written = tools.WithWritten(ctx)
	s.pending.Store(string(m.ID), q.call)
	return q
}

func (s *httpSession) forget(q *httpRequest) {
	s.pending.CompareAndDelete(string(q.ID), q.call)
	q.call.cancel(nil)
}

func (q *httpRequest) isCall() bool { return q.Method == string(mcp.MethodToolsCall) }

func (q *httpRequest) needsRoot() bool {
	return q.isCall() || q.Method == string(mcp.MethodResourcesRead)
}
