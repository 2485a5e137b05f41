// Package survive catches a panic in a goroutine, so that one mistake of ours, met in one root, does not end a
// process that serves many. net/http catches the panic of a handler, but not the panic of a goroutine that a handler
// or the daemon has started.
package survive

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"runtime/debug"
	"time"
)

// ErrPanic says that the work panicked. The log says where.
var ErrPanic = errors.New("c2c made a mistake; its log says where")

// How long Loop waits until it tries again: the first time, and at the most. So the log gets a stack in a minute, at the most.
const (
	firstPause = time.Second
	longPause  = time.Minute
)

// Call does some work, for a goroutine of its own or for one root of several. A panic is logged with its stack, and is
// ErrPanic. Its value may be the words of a message, so only what the runtime itself says is logged.
func Call(log *slog.Logger, what string, work func() error) (err error) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		why := "not logged"
		if fault, ok := p.(runtime.Error); ok {
			why = fault.Error()
		}
		log.Error("panic; this work ends, and the rest goes on", "work", what, "why", why, "stack", string(debug.Stack()))
		err = ErrPanic
	}()
	return work()
}

// Loop does some work until it returns, and begins it again when it has panicked, after a pause that doubles, until ctx ends.
func Loop(ctx context.Context, log *slog.Logger, what string, work func()) {
	for pause := firstPause; ; pause = min(2*pause, longPause) {
		err := Call(log, what, func() error { work(); return nil })
		if err == nil || ctx.Err() != nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}
