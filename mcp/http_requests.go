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
	call    *pendingCall // nil: c2c has refused the request before any work
	written *tools.Written

	resp mcp.JSONRPCMessage // nil: not handled yet, or cancelled
	err  error
}

// begin adds a request to those under way. If the connection breaks, the work for the request goes on.
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

// refused makes a request that c2c does not handle. The argument refusal is the answer to the request.
func refused(m rpc.Message, refusal *mcp.JSONRPCError) *httpRequest {
	return &httpRequest{Message: m, written: new(tools.Written), resp: refusal, err: errors.New("refused")}
}

func (q *httpRequest) isCall() bool { return q.resp == nil && q.Method == string(mcp.MethodToolsCall) }

func (q *httpRequest) needsRoot() bool {
	return q.isCall() || q.resp == nil && q.Method == string(mcp.MethodResourcesRead)
}

func (q *httpRequest) wantsReport() bool { return q.written.Done != nil }

// requests are the requests of one POST: a single request, or all requests of a batch.
type requests struct {
	list  []*httpRequest
	batch bool
}

// answers returns the body of the HTTP answer: one answer, or an array with the answers of a batch. It returns nil if no
// request has an answer.
func (all requests) answers() any {
	return all.each(func(q *httpRequest) mcp.JSONRPCMessage { return q.resp })
}

// notArrived returns the answers for a client that resumes a stream. Each answer with mail is replaced by an error,
// because c2c does not keep such answers.
func (all requests) notArrived() []byte {
	b, _ := json.Marshal(all.each(func(q *httpRequest) mcp.JSONRPCMessage {
		if q.resp != nil && !q.wantsReport() {
			return q.resp
		}
		return rpc.Refuse(q.ID, mcp.INTERNAL_ERROR, "the connection broke before the answer arrived. Mail that was in the answer waits again: call poll_inbox")
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

// hangUp records for each request that the client no longer waits for the answer.
func (all requests) hangUp() {
	for _, q := range all.list {
		if q.call != nil {
			q.call.hangUp()
		}
	}
}

// reportWritten reports to each handler whether the answers were written. The answers of a POST are written together:
// either all of them or none.
func (all requests) reportWritten(err error) {
	for _, q := range all.list {
		q.written.Report(errors.Join(q.err, err))
	}
}
