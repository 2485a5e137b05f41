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

// answer writes the answer to a POST: as JSON, or as a stream if a notification comes before the answer. Only one goroutine uses it.
type answer struct {
	*host
	w http.ResponseWriter
	r *http.Request

	events *stream     // nil: the answer is not a stream
	out    *sse.Stream // the stream to the client; nil: there is none, or it is broken
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

// notify sends a notification. The first notification begins the stream. If the client has hung up before the stream began,
// notify does nothing: the client has no event id, and so could not resume the stream.
func (a *answer) notify(s *httpSession, n mcp.JSONRPCNotification) {
	b, err := json.Marshal(n)
	if err != nil || a.events == nil && a.r.Context().Err() != nil {
		return
	}
	if a.events == nil {
		a.events = s.streams.begin()
		a.out, err = sse.Start(a.w, a.r, a.limits.Write)
		if err == nil && s.startsWithEvent() {
			err = a.out.Send(sse.Event{ID: a.events.id(0), Data: []byte{}, Retry: retry})
		}
		a.failed(err)
	}
	a.send(b)
}

// send adds a message to the stream, and writes it if the client is still connected.
func (a *answer) send(b []byte) error {
	n := a.events.add(b)
	if a.out == nil {
		return rpc.ErrHungUp
	}
	return a.failed(a.out.Send(sse.Event{ID: a.events.id(n), Data: b}))
}

func (a *answer) failed(err error) error {
	if err != nil {
		a.out = nil
	}
	return err
}

// await writes notifications until the handler of the request has returned.
func (a *answer) await(s *httpSession, q *httpRequest, notes <-chan mcp.JSONRPCNotification, done <-chan struct{}) {
	gone := a.r.Context().Done()
	for {
		select {
		case n := <-notes:
			a.notify(s, n)
		case <-gone:
			gone = nil
			q.call.hangUp()
		case <-done:
			for len(notes) > 0 {
				a.notify(s, <-notes)
			}
			return
		}
	}
}

// write writes and flushes the answer; c2c cannot see whether the client has read it.
func (a *answer) write(s *httpSession, q *httpRequest) error {
	if a.events != nil {
		return a.writeStream(s, q)
	}
	switch {
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

// writeStream writes an answer that has become a stream. The stream keeps the answer for a client that resumes the stream, unless
// the answer contains mail.
func (a *answer) writeStream(s *httpSession, q *httpRequest) error {
	defer func() { a.events.end(s.cfg.Now()) }()
	if q.resp == nil && errors.Is(q.err, rpc.ErrCancelled) {
		return rpc.ErrCancelled
	}
	b, err := json.Marshal(q.resp)
	switch {
	case err == nil && q.resp != nil && !q.wantsReport():
		return a.send(b)
	case err == nil && q.resp != nil && a.out != nil:
		if err = a.failed(a.out.Send(sse.Event{ID: a.events.id(a.events.next()), Data: b})); err == nil {
			return nil
		}
	}
	a.send(q.notArrived())
	return errors.Join(err, rpc.ErrHungUp)
}

// take handles the message of a POST.
func (s *httpSession) take(a *answer, m rpc.Message, body []byte) {
	switch cancelled := m.Cancelled(); {
	case m.Method == "":
		s.pingAnswered(answeredID(body))
	case cancelled != "":
		s.cancelRequest(cancelled)
	case m.ID == nil:
		_, _ = tools.Handle(s.context(s.ctx, nil), s.cfg.Log, s.srv, m, nil) // a notification gets no answer
	default:
		s.answer(a, s.begin(m))
		return
	}
	a.w.WriteHeader(http.StatusAccepted)
}

// answer handles a request, writes its answer, and reports to the handler whether the answer was written.
func (s *httpSession) answer(a *answer, q *httpRequest) {
	defer s.forget(q)
	if q.needsRoot() {
		if err := s.decide(a.r); err != nil {
			q.resp, q.err = rpc.Refuse(q.ID, mcp.INVALID_PARAMS, "find out which project this client works in: "+err.Error()), err
			q.written.Report(errors.Join(err, a.write(s, q)))
			return
		}
	}
	turn := new(turn) // a request that is no tool call needs no turn
	if q.isCall() {
		if turn = s.turns.wait(); turn == nil {
			http.Error(a.w, "too many tool calls wait in this session", http.StatusTooManyRequests)
			return
		}
	}
	notes := make(chan mcp.JSONRPCNotification, 16) // mcp-go drops notifications that do not fit
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.handle(a.r, q, notes, turn)
	}()
	a.await(s, q, notes, done)
	defer turn.end() // deferred, because net/http survives a panic here, and the session's other calls wait for the turn
	err := a.write(s, q)
	q.written.Report(errors.Join(q.err, err))
}

// handle calls the handler of the request.
func (s *httpSession) handle(r *http.Request, q *httpRequest, notes chan mcp.JSONRPCNotification, turn *turn) {
	ctx := q.ctx
	if q.Method == string(mcp.MethodToolsList) {
		ctx = tools.WithRoot(ctx, s.cfg.FindRoot(r))
	}
	if q.isCall() {
		turn.take()
		ctx = tools.WithTurn(ctx, func() { q.call.yieldTurn(); turn.give() })
	}
	q.resp, q.err = tools.Handle(s.context(ctx, notes), s.cfg.Log, s.srv, q.Message, nil)
}
