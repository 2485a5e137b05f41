package rpc

import (
	"encoding/json"
	"errors"
	"io"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

// The reasons why an answer was not written, or why a request ended early.
var (
	ErrStalled   = errors.New("client does not read its answers") // the time limit of the transport has passed
	ErrStopping  = errors.New("server is stopping")
	ErrCancelled = errors.New("the client cancelled the request")
	ErrHungUp    = errors.New("the client has hung up")
)

// An Output is the only writer of the client's pipe. One goroutine does all writing, so lines never
// mix, and a handler's notifications go out before its answer.
//
// A blocked write cannot be taken back: Write stops waiting, but Run completes the line when the
// client reads again. So an answer that Write has reported as not written may still arrive late.
// Then the client gets the mail in that answer twice, with the same message ids.
type Output struct {
	w             io.Writer
	limit         time.Duration
	notifications <-chan mcp.JSONRPCNotification // if the channel is full, mcp-go drops the next notification and returns an error
	Lines         chan line                      // unbuffered, so that a writer can withdraw a line that Run has not taken
	Abort         chan struct{}                  // closed: writers stop waiting at once
	Done          chan struct{}                  // closed when Run has returned
	Broken        chan struct{}                  // closed when the pipe returns its first error
	failed        error                          // the pipe's first error

	busy atomic.Pointer[time.Time] // when the current write began; nil when idle
}

type line struct {
	bytes []byte
	done  chan error // buffered, so that Run never waits for a writer that gave up
}

func NewOutput(w io.Writer, limit time.Duration, notifications <-chan mcp.JSONRPCNotification) *Output {
	return &Output{
		w:             w,
		limit:         limit,
		notifications: notifications,
		Lines:         make(chan line),
		Abort:         make(chan struct{}),
		Done:          make(chan struct{}),
		Broken:        make(chan struct{}),
	}
}

// Run writes until Abort is closed, or until Lines is closed and all earlier notifications are
// written.
func (o *Output) Run() {
	defer close(o.Done)
	for {
		select {
		case n := <-o.notifications:
			o.notify(n)
		case l, ok := <-o.Lines:
			for len(o.notifications) > 0 { // no other goroutine takes notifications
				o.notify(<-o.notifications)
			}
			if !ok {
				return
			}
			l.done <- o.put(l.bytes)
		case <-o.Abort:
			return
		}
	}
}

// notify writes a notification. If the write fails, the next answer reports the error.
func (o *Output) notify(n mcp.JSONRPCNotification) {
	if b, err := json.Marshal(n); err == nil {
		_ = o.put(append(b, '\n'))
	}
}

func (o *Output) put(b []byte) error {
	now := time.Now()
	o.busy.Store(&now)
	_, err := o.w.Write(b)
	o.busy.Store(nil)
	if err != nil && o.failed == nil {
		o.failed = err
		close(o.Broken)
	}
	return err
}

// Failure returns the first error of the pipe; nil until Broken is closed.
func (o *Output) Failure() error {
	select {
	case <-o.Broken:
		return o.failed
	default:
		return nil
	}
}

// Write returns nil when b has been written whole, and an error if that takes longer than the
// limit. The time that the current write has already taken counts. So if a client stops reading,
// all its answers together wait only as long as one limit. But each answer waits for at least a
// hundredth of the limit, because the client may just have begun to read again.
func (o *Output) Write(b []byte) error {
	wait := o.limit
	if began := o.busy.Load(); began != nil {
		wait = max(wait-time.Since(*began), o.limit/100)
	}
	late := time.NewTimer(wait)
	defer late.Stop()
	l := line{bytes: b, done: make(chan error, 1)}
	select {
	case o.Lines <- l:
	case <-late.C:
		return ErrStalled
	case <-o.Abort:
		return ErrStopping
	}
	select {
	case err := <-l.done:
		return err
	case <-late.C:
		return ErrStalled
	case <-o.Abort:
		return ErrStopping
	}
}
