package mcp

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

	"c2c/mcp/rpc"
	"c2c/sse"
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
		a.events = s.streams.begin()
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

// yieldTurn says that the request waits for somebody else: such a one ends when nobody waits for its answer any more.
func (p *pendingCall) yieldTurn() {
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

// await tells what is to be told until the requests are handled.
func (a *answer) await(s *httpSession, all requests, notes <-chan mcp.JSONRPCNotification, done <-chan struct{}) {
	gone := a.r.Context().Done()
	for {
		select {
		case n := <-notes:
			a.tell(s, n)
		case <-gone:
			gone = nil
			all.hangUp()
		case <-done:
			for len(notes) > 0 {
				a.tell(s, <-notes)
			}
			return
		}
	}
}

// write writes the answer, and returns nil when the client has it: its kernel, as far as we can see.
func (a *answer) write(s *httpSession, all requests) error {
	if a.events != nil {
		return a.writeStream(s, all)
	}
	resp := all.answers()
	switch {
	case errors.Is(context.Cause(s.ctx), rpc.ErrStopping) && resp == nil:
		sayLater(a.w, rpc.ErrStopping.Error())
		return rpc.ErrStopping
	case resp == nil && s.ctx.Err() != nil:
		http.Error(a.w, context.Cause(s.ctx).Error(), http.StatusNotFound)
		return context.Cause(s.ctx)
	case resp == nil: // cancelled: MCP wants no answer, HTTP one without words
		a.w.WriteHeader(http.StatusAccepted)
		return errCancelled
	case a.r.Context().Err() != nil:
		return errHungUp
	}
	err := a.json(http.StatusOK, resp)
	if err == nil && all.wantsReport() {
		err = a.acked()
	}
	return err
}

// writeStream is write where a stream was begun. An answer without mail is kept for a client that comes back for it.
func (a *answer) writeStream(s *httpSession, all requests) error {
	defer func() { a.events.end(s.h.cfg.Now()) }()
	resp := all.answers()
	if resp == nil && all.cancelled() {
		return errCancelled
	}
	b, err := json.Marshal(resp)
	switch {
	case err == nil && resp != nil && !all.wantsReport():
		return a.send(b)
	case err == nil && resp != nil && a.out != nil:
		err = a.failed(a.out.Send(sse.Event{ID: a.events.id(a.events.next()), Data: b}))
		if err == nil {
			err = a.acked()
		}
		if err == nil {
			return nil
		}
	}
	a.send(all.notArrived())
	return errors.Join(err, errHungUp)
}

// acked waits until the client's kernel has all that was written.
func (a *answer) acked() error {
	return tcpAcked(a.r.Context(), a.h.cfg.Conn(a.r), a.h.limits.Write)
}
