package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"c2c/internal/sse"
	"c2c/mcp/rpc"
	"c2c/mcp/tools"
)

// answer writes the answer to a POST: as JSON, or as a stream if a notification comes before the
// answer. Only one goroutine uses it.
type answer struct {
	*host
	w http.ResponseWriter
	r *http.Request

	out *sse.Stream // the stream to the client; nil: the answer is no stream
}

// json answers with v as JSON and flushes it.
func (a *answer) json(status int, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		err = fmt.Errorf("encode answer: %w", err)
		http.Error(a.w, err.Error(), http.StatusInternalServerError)
		return err
	}
	out := http.NewResponseController(a.w)
	if err := out.SetWriteDeadline(time.Now().Add(a.limits.Write)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	a.w.Header().Set("Content-Type", "application/json")
	a.w.Header().Set("Content-Length", strconv.Itoa(len(b)))
	a.w.WriteHeader(status)
	if _, err := a.w.Write(b); err != nil {
		return fmt.Errorf("write answer: %w", err)
	}
	return out.Flush() // without this, net/http keeps up to 4 KiB until the handler has returned, and a write error is lost
}

// notify sends a notification. The first notification begins the stream. Its events have no ids, so
// a client cannot resume it.
func (a *answer) notify(n mcp.JSONRPCNotification) {
	b, err := json.Marshal(n)
	if err != nil {
		return
	}
	if a.out == nil {
		a.out, _ = sse.Start(a.w, a.r, a.limits.Write) // Send returns its error, too
	}
	_ = a.out.Send(sse.Event{Data: b})
}

// await writes notifications until the handler of the request has returned.
func (a *answer) await(q *httpRequest, notes <-chan mcp.JSONRPCNotification, done <-chan struct{}) {
	gone := a.r.Context().Done()
	for {
		select {
		case n := <-notes:
			a.notify(n)
		case <-gone:
			gone = nil
			q.call.hangUp()
		case <-done:
			for len(notes) > 0 {
				a.notify(<-notes)
			}
			return
		}
	}
}

// write writes and flushes the answer; c2c cannot see whether the client has read it.
func (a *answer) write(s *httpSession, q *httpRequest) error {
	switch {
	case a.out != nil:
		return a.writeStream(q)
	case errors.Is(context.Cause(s.ctx), rpc.ErrStopping) && q.resp == nil:
		sayLater(a.w, rpc.ErrStopping.Error())
		return rpc.ErrStopping
	case q.resp == nil && s.ctx.Err() != nil:
		http.Error(a.w, context.Cause(s.ctx).Error(), http.StatusNotFound)
		return context.Cause(s.ctx)
	case q.resp == nil: // cancelled: MCP forbids an answer, but HTTP demands one, so send an empty one
		a.w.WriteHeader(http.StatusAccepted)
		return rpc.ErrCancelled
	case a.r.Context().Err() != nil:
		return rpc.ErrHungUp
	}
	return a.json(http.StatusOK, q.resp)
}

// writeStream writes an answer that has become a stream.
func (a *answer) writeStream(q *httpRequest) error {
	if q.resp == nil && errors.Is(q.err, rpc.ErrCancelled) {
		return rpc.ErrCancelled
	}
	if q.resp == nil { // the daemon is about to end
		q.resp = rpc.Refuse(q.ID, mcp.INTERNAL_ERROR, context.Cause(q.ctx).Error())
	}
	b, err := json.Marshal(q.resp)
	if err != nil {
		return err
	}
	return a.out.Send(sse.Event{Data: b})
}

// take handles the message of a POST.
func (s *httpSession) take(a *answer, m rpc.Message, body []byte) {
	switch cancelled := m.Cancelled(); {
	case m.Method == "":
		s.pingAnswered(answeredID(body))
	case cancelled != "":
		s.cancelRequest(cancelled)
	case m.ID == nil:
		_, _ = tools.Handle(s.context(s.ctx, nil), s.cfg.Log, s.srv, m) // a notification gets no answer
	default:
		s.answer(a, s.begin(m))
		return
	}
	a.w.WriteHeader(http.StatusAccepted)
}

// answer handles a request, writes its answer, and reports to the handler whether the answer was
// written.
func (s *httpSession) answer(a *answer, q *httpRequest) {
	defer s.forget(q)
	if q.needsRoot() {
		if err := s.decide(a.r); err != nil {
			q.resp, q.err = rpc.Refuse(q.ID, mcp.INVALID_PARAMS, "find out which project this client works in: "+err.Error()), err
			q.written.Report(errors.Join(err, a.write(s, q)))
			return
		}
	}
	notes := make(chan mcp.JSONRPCNotification, 16) // mcp-go drops notifications that do not fit
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.handle(q, notes)
	}()
	a.await(q, notes, done)
	err := a.write(s, q)
	q.written.Report(errors.Join(q.err, err))
}

// handle calls the handler of the request.
func (s *httpSession) handle(q *httpRequest, notes chan mcp.JSONRPCNotification) {
	ctx := q.ctx
	if q.isCall() {
		ctx = tools.WithTurn(ctx, q.call.yieldTurn)
	}
	q.resp, q.err = tools.Handle(s.context(ctx, notes), s.cfg.Log, s.srv, q.Message)
}
