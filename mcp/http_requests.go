package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"

	"c2c/mcp/rpc"
	"c2c/mcp/tools"
)

// httpRequest is a request of a session, and what its handler has left.
type httpRequest struct {
	rpc.Message
	ctx     context.Context
	call    *pendingCall // nil: it was refused before anything was done
	written *tools.Written

	resp mcp.JSONRPCMessage // nil: not handled yet, or cancelled
	err  error
}

// begin counts a request among those under way. The work goes on when the connection breaks.
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

// refused is a request that needs no handler.
func refused(m rpc.Message, refusal *mcp.JSONRPCError) *httpRequest {
	return &httpRequest{Message: m, written: new(tools.Written), resp: refusal, err: errors.New("refused")}
}

func (q *httpRequest) isCall() bool { return q.resp == nil && q.Method == string(mcp.MethodToolsCall) }

func (q *httpRequest) needsRoot() bool {
	return q.isCall() || q.resp == nil && q.Method == string(mcp.MethodResourcesRead)
}

func (q *httpRequest) wantsReport() bool { return q.written.Done != nil }

// requests are those of one POST: one, or the ones of a batch.
type requests struct {
	list  []*httpRequest
	batch bool
}

// answers is what the client is told: the answer, or the array of those of a batch. nil: there is none.
func (all requests) answers() any {
	return all.each(func(q *httpRequest) mcp.JSONRPCMessage { return q.resp })
}

// notArrived is what a client finds that comes back for an answer with mail in it, which is not kept.
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
	return slices.ContainsFunc(all.list, func(q *httpRequest) bool { return errors.Is(q.err, errCancelled) })
}

// hangUp says that nobody waits for the answers any more.
func (all requests) hangUp() {
	for _, q := range all.list {
		if q.call != nil {
			q.call.hangUp()
		}
	}
}

// answer has the requests of a POST handled, writes what they answer, and settles that.
func (s *httpSession) answer(a *answer, all requests) {
	defer s.forgetRequests(all)
	if slices.ContainsFunc(all.list, (*httpRequest).needsRoot) {
		if err := s.decide(a.r); err != nil {
			for _, q := range all.list {
				if q.needsRoot() {
					q.resp, q.err = rpc.Refuse(q.ID, mcp.INVALID_PARAMS, "find out which project this client works in: "+err.Error()), err
				}
			}
		}
	}
	turn := &turn{s: s}
	if slices.ContainsFunc(all.list, (*httpRequest).isCall) && !turn.wait() {
		http.Error(a.w, "too many tool calls wait in this session", http.StatusTooManyRequests)
		return
	}
	notes := make(chan mcp.JSONRPCNotification, 16) // mcp-go drops what does not fit
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.handle(all, notes, turn)
	}()
	a.await(s, all, notes, done)
	defer turn.end() // net/http goes on after a panic, and the session's other calls wait for it
	all.reportWritten(a.write(s, all))
}

// handle has requests handled, one after another.
func (s *httpSession) handle(all requests, notes chan mcp.JSONRPCNotification, turn *turn) {
	for _, q := range all.list {
		if q.resp != nil {
			continue
		}
		ctx := q.ctx
		if q.isCall() {
			turn.take()
			ctx = tools.WithTurn(ctx, func() { q.call.yieldTurn(); turn.give() })
		}
		q.resp, q.err = tools.Handle(s.context(ctx, notes), s.h.cfg.Log, s.h.srv, q.Message, nil)
	}
}

// reportWritten tells each handler whether the answers were written: all of them were, or none.
func (all requests) reportWritten(err error) {
	for _, q := range all.list {
		q.written.Report(errors.Join(q.err, err))
	}
}

// turn is the right of a POST to run the tool calls of its session.
type turn struct {
	s *httpSession

	mu    sync.Mutex
	waits bool // it is counted among those that wait
	has   bool
}

// wait counts it among those that wait. It reports false if too many do.
func (t *turn) wait() bool {
	t.waits = t.s.waits()
	return t.waits
}

// take waits for the turn. Whoever has it gives it back: a handler ends, at the latest with the session.
func (t *turn) take() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.has {
		t.s.gate <- struct{}{}
		t.has = true
	}
	if t.waits {
		t.waits = false
		t.s.goesOn()
	}
}

// give lets another POST of the session have it.
func (t *turn) give() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.has {
		t.has = false
		<-t.s.gate
	}
}

// end is called when the calls are answered.
func (t *turn) end() {
	t.give()
	if t.waits {
		t.s.goesOn()
	}
}
