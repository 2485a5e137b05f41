package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"c2c/broker/httpd/sse"
)

// answer is how a POST is answered: as JSON, or as a stream once there is something to tell before the answer. One goroutine
// uses it.
type answer struct {
	h *HTTP
	w http.ResponseWriter
	r *http.Request

	events *stream     // nil: no stream was begun
	out    *sse.Stream // to the client; nil: none, or it is broken
}

// json answers with a message, and returns when it is flushed.
func (a *answer) json(status int, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		err = fmt.Errorf("encode answer: %w", err)
		http.Error(a.w, err.Error(), http.StatusInternalServerError)
		return err
	}
	out := http.NewResponseController(a.w)
	if err := out.SetWriteDeadline(time.Now().Add(a.h.limits.Write)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	a.w.Header().Set("Content-Type", "application/json")
	a.w.Header().Set("Content-Length", strconv.Itoa(len(b)))
	a.w.WriteHeader(status)
	if _, err := a.w.Write(b); err != nil {
		return fmt.Errorf("write answer: %w", err)
	}
	return out.Flush() // else up to 4 KiB stay here until the handler has returned, and their error is nobody's
}

// tell sends a notification, and begins the stream with the first. Where the client has gone before that, nobody could ask
// for the stream.
func (a *answer) tell(s *httpSession, n mcp.JSONRPCNotification) {
	b, err := json.Marshal(n)
	if err != nil || a.events == nil && a.r.Context().Err() != nil {
		return
	}
	if a.events == nil {
		a.events = s.newStream()
		a.out, err = sse.Start(a.w, a.r, a.h.limits.Write)
		if err == nil && s.startsWithEvent() {
			err = a.out.Send(sse.Event{ID: a.events.id(0), Data: []byte{}, Retry: retry})
		}
		a.failed(err)
	}
	a.send(b)
}

// send puts a message into the stream, and sends it if the client is there.
func (a *answer) send(b []byte) error {
	n := a.events.add(b)
	if a.out == nil {
		return errHungUp
	}
	return a.failed(a.out.Send(sse.Event{ID: a.events.id(n), Data: b}))
}

func (a *answer) failed(err error) error {
	if err != nil {
		a.out = nil
	}
	return err
}

// pendingCall is a request under way.
type pendingCall struct {
	cancel context.CancelCauseFunc

	mu    sync.Mutex
	aside bool // it waits for somebody else
	gone  bool // nobody waits for it
}

// stepAside says that the request waits for somebody else: such a one ends when nobody waits for its answer any more.
func (p *pendingCall) stepAside() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.aside = true; p.gone {
		p.cancel(errHungUp)
	}
}

// hangUp says that nobody waits for the answer any more. That alone cancels no request, says MCP.
func (p *pendingCall) hangUp() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone = true; p.aside {
		p.cancel(errHungUp)
	}
}

// handled is what a handler has left.
type handled struct {
	resp mcp.JSONRPCMessage
	err  error
}

// request has a request handled, and answers it.
func (s *httpSession) request(a *answer, m message) {
	isCall := m.method == string(mcp.MethodToolsCall)
	if isCall || m.method == string(mcp.MethodResourcesRead) {
		if err := s.decide(a.r); err != nil {
			a.json(http.StatusOK, refuse(m.id, mcp.INVALID_PARAMS, "find out which project this client works in: "+err.Error()))
			return
		}
	}
	if isCall && !s.waits() {
		http.Error(a.w, "too many tool calls wait in this session", http.StatusTooManyRequests)
		return
	}
	// The work goes on when the connection breaks.
	ctx, cancel := context.WithCancelCause(s.ctx)
	defer cancel(nil)
	call := &pendingCall{cancel: cancel}
	s.pending.Store(string(m.id), call)
	defer s.pending.CompareAndDelete(string(m.id), call)
	ctx, settlement := withSettlement(ctx)
	release := func() {}
	if isCall {
		release = sync.OnceFunc(func() { <-s.gate })
		ctx = withStepAside(ctx, func() { call.stepAside(); release() })
	}
	notes := make(chan mcp.JSONRPCNotification, 16) // mcp-go drops what does not fit
	done := make(chan handled, 1)
	go func() {
		if isCall {
			s.gate <- struct{}{} // whoever has it lets it go: its handler ends, at the latest with the session
			s.goesOn()
		}
		resp, err := handle(s.context(ctx, notes), s.h.cfg.Log, s.h.srv, m, nil)
		done <- handled{resp, err}
	}()
	out := a.await(s, call, notes, done)
	defer release() // net/http goes on after a panic, and the session's other calls wait for it
	settlement.end(errors.Join(out.err, a.finish(s, m, out, settlement.done != nil)))
}

// await tells what is to be told until the handler has ended.
func (a *answer) await(s *httpSession, call *pendingCall, notes <-chan mcp.JSONRPCNotification, done <-chan handled) handled {
	gone := a.r.Context().Done()
	for {
		select {
		case n := <-notes:
			a.tell(s, n)
		case <-gone:
			gone = nil
			call.hangUp()
		case out := <-done:
			for len(notes) > 0 {
				a.tell(s, <-notes)
			}
			return out
		}
	}
}

// finish writes the answer, and returns nil when the client has it: its kernel, as far as we can see. settles: mail is in
// it, which is offered again if the client has not got it.
func (a *answer) finish(s *httpSession, m message, out handled, settles bool) error {
	if a.events != nil {
		return a.finishStream(s, m, out, settles)
	}
	switch {
	case errors.Is(context.Cause(s.ctx), errStopping) && out.resp == nil:
		sayLater(a.w, errStopping.Error())
		return out.err
	case out.resp == nil && s.ctx.Err() != nil:
		http.Error(a.w, context.Cause(s.ctx).Error(), http.StatusNotFound)
		return out.err
	case out.resp == nil: // cancelled: MCP wants no answer, HTTP one without words
		a.w.WriteHeader(http.StatusAccepted)
		return out.err
	case a.r.Context().Err() != nil:
		return errHungUp
	}
	err := a.json(http.StatusOK, out.resp)
	if err == nil && settles {
		err = a.arrived()
	}
	return err
}

// finishStream is finish where a stream was begun. What settles nothing is kept for a client that comes back for it.
func (a *answer) finishStream(s *httpSession, m message, out handled, settles bool) error {
	defer func() { a.events.end(s.h.cfg.Now()) }()
	b, err := json.Marshal(out.resp)
	switch {
	case out.resp == nil && errors.Is(out.err, errCancelled):
		return out.err
	case err == nil && out.resp != nil && !settles:
		return a.send(b)
	case err == nil && out.resp != nil && a.out != nil:
		err = a.failed(a.out.Send(sse.Event{ID: a.events.id(a.events.next()), Data: b}))
		if err == nil {
			err = a.arrived()
		}
		if err == nil {
			return nil
		}
	}
	a.send(notArrived(m))
	return errors.Join(err, out.err, errHungUp)
}

// notArrived is what a client finds that comes back for an answer which is not kept.
func notArrived(m message) []byte {
	b, _ := json.Marshal(refuse(m.id, mcp.INTERNAL_ERROR, "the connection broke before the answer was there. Mail that was in it waits: call poll_inbox"))
	return b
}

// arrived waits until the client's kernel has all that was written.
func (a *answer) arrived() error {
	return arrived(a.r.Context(), a.h.cfg.Conn(a.r), a.h.limits.Write)
}
