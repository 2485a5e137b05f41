package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"c2c/mcp/rpc"
)

// stdio is one run of Serve.
type stdio struct {
	srv      *server.MCPServer
	session  *server.InProcessSession
	log      *slog.Logger
	out      *rpc.Output
	calls    chan *request // in the order of their arrival
	answered chan struct{} // closed when answerCalls has returned

	pending sync.Map // requests under way, by id
}

// A request is a message that waits for its answer, or a notification, which gets no answer.
type request struct {
	rpc.Message
	ctx    context.Context
	cancel context.CancelCauseFunc
	srv    *server.MCPServer // the server that handles the request
}

func (t *stdio) cancelRequest(id string) {
	if r, ok := t.pending.Load(id); ok {
		r.(*request).cancel(rpc.ErrCancelled)
	}
}

func noDiscover(id json.RawMessage) *mcp.JSONRPCError {
	return rpc.Refuse(id, mcp.METHOD_NOT_FOUND, "method not found: start with initialize")
}

func (t *stdio) begin(ctx context.Context, m rpc.Message) *request {
	r := &request{Message: m, srv: t.srv}
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	if m.ID != nil {
		t.pending.Store(string(m.ID), r)
	}
	return r
}

func (t *stdio) end(r *request) {
	t.pending.CompareAndDelete(string(r.ID), r) // compare, because a client may use an id again before the answer
	r.cancel(nil)
}

// send writes an answer.
func (t *stdio) send(resp any) error {
	b, err := json.Marshal(resp)
	if err != nil {
		return fmt.Errorf("encode answer: %w", err)
	}
	return t.out.Write(append(b, '\n'))
}
