// Package survive recovers a panic in a goroutine, so that a bug of ours in one root does not end a process that
// serves many. net/http recovers the panic of a handler, but not the panic of a goroutine that a handler or the
// daemon has started.
package survive

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"runtime/debug"
	"time"
)

// ErrPanic means that the work panicked. The log says where.
var ErrPanic = errors.New("c2c made a mistake; its log says where")

// Loop's first and longest pause before it tries again. So the log gets at most one stack in a minute.
const (
	firstPause = time.Second
	longPause  = time.Minute
)

// Call does some work, for a goroutine of its own or for one root of several. It logs a panic with its stack, and returns
// ErrPanic. The panic's value may hold a message's words, so Call logs the value only if the runtime made it.
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

// Loop does some work until it returns. After a panic it begins the work again, after a pause that doubles, until ctx ends.
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
