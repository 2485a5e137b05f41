package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"

	"c2c/mcp/rpc"
	"c2c/mcp/tools"
)

// httpRequest is a request of a session, and its answer.
type httpRequest struct {
	rpc.Message
	ctx     context.Context
	call    *pendingCall // nil: c2c has refused it before any work
	written *tools.Written

	resp mcp.JSONRPCMessage // nil: not handled yet, or cancelled
	err  error
}

// begin adds a request to those under way. Its work goes on when the connection breaks.
func (s *httpSession) begin(m rpc.Message) *httpRequest {
	ctx, cancel := context.WithCancelCause(s.ctx)
	q := &httpRequest{Message: m, call: &pendingCall{cancel: cancel}}
	q.ctx, q.written = tools.WithWritten(ctx)
	s.pending.Store(string(m.ID), q.call)
	return q
}

func (s *httpSession) forgetRequests(all requests) {
	for _, q := range all.list {
		if q.call != nil {
			s.pending.CompareAndDelete(string(q.ID), q.call)
			q.call.cancel(nil)
		}
	}
}

// refused makes a request that no handler sees: the refusal is its answer.
func refused(m rpc.Message, refusal *mcp.JSONRPCError) *httpRequest {
	return &httpRequest{Message: m, written: new(tools.Written), resp: refusal, err: errors.New("refused")}
}

func (q *httpRequest) isCall() bool { return q.resp == nil && q.Method == string(mcp.MethodToolsCall) }

func (q *httpRequest) needsRoot() bool {
	return q.isCall() || q.resp == nil && q.Method == string(mcp.MethodResourcesRead)
}

func (q *httpRequest) wantsReport() bool { return q.written.Done != nil }

// requests are the requests of one POST: one, or all of a batch.
type requests struct {
	list  []*httpRequest
	batch bool
}

// answers is what the client gets: the answer, or an array with the answers of a batch. nil: no answer.
func (all requests) answers() any {
	return all.each(func(q *httpRequest) mcp.JSONRPCMessage { return q.resp })
}

// notArrived answers a client that resumes a stream to get an answer with mail in it: c2c does not keep such answers.
func (all requests) notArrived() []byte {
	b, _ := json.Marshal(all.each(func(q *httpRequest) mcp.JSONRPCMessage {
		if q.resp != nil && !q.wantsReport() {
			return q.resp
		}
		return rpc.Refuse(q.ID, mcp.INTERNAL_ERROR, "the connection broke before the answer was there. Mail that was in it waits: call poll_inbox")
	}))
	return b
}

func (all requests) each(answer func(*httpRequest) mcp.JSONRPCMessage) any {
	var some []mcp.JSONRPCMessage
	for _, q := range all.list {
		if a := answer(q); a != nil {
			some = append(some, a)
		}
	}
	switch {
	case len(some) == 0:
		return nil
	case all.batch:
		return some
	}
	return some[0]
}

func (all requests) wantsReport() bool {
	return slices.ContainsFunc(all.list, (*httpRequest).wantsReport)
}

func (all requests) cancelled() bool {
	return slices.ContainsFunc(all.list, func(q *httpRequest) bool { return errors.Is(q.err, rpc.ErrCancelled) })
}

// hangUp notes for each request that its client no longer waits for the answer.
func (all requests) hangUp() {
	for _, q := range all.list {
		if q.call != nil {
			q.call.hangUp()
		}
	}
}

// reportWritten reports to each handler whether the answers were written: all were, or none.
func (all requests) reportWritten(err error) {
	for _, q := range all.list {
		q.written.Report(errors.Join(q.err, err))
	}
}
