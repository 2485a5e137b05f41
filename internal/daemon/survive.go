// This part recovers panics in goroutines, so that a bug in the work for one root does not end a
// process that serves many roots. net/http recovers the panic of a handler, but not the panic of a
// goroutine that a handler or the daemon has started.

package daemon

import (
	"context"
	"errors"
	"runtime"
	"runtime/debug"
	"sync"
	"time"
)

// ErrPanic means that the work panicked. The log has the stack.
var ErrPanic = errors.New("c2c made a mistake; its log says where")

// Log is the part of a slog.Logger that these functions use.
type Log interface {
	Error(words string, facts ...any)
}

// The first and the longest pause of repeat before it calls the work again. Therefore even work that
// always panics at once puts only one stack a minute into the log.
const (
	firstPause = time.Second
	longPause  = time.Minute
)

// Survive calls the function work; the log shows it under the name in what. If work panics, Survive
// logs the stack and returns ErrPanic. The value of the panic may contain the text of a message, so
// Survive logs the value only if it comes from the Go runtime.
func Survive(log Log, what string, work func() error) (err error) {
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

// SurviveLoop calls the function work. If work panics, it calls it again after a pause, until work
// returns or ctx ends.
func SurviveLoop(ctx context.Context, log Log, what string, work func()) {
	repeat(ctx, func() error { return Survive(log, what, func() error { work(); return nil }) }, func(error) {})
}

// repeat calls the function work until it returns nil, or ctx ends. Before a pause it calls failed.
// Each pause is twice as long as the one before, up to longPause; after work that took longer than
// that, it is short again.
func repeat(ctx context.Context, work func() error, failed func(error)) {
	for pause := firstPause; ; pause = min(2*pause, longPause) {
		began := time.Now()
		err := work()
		if err == nil || ctx.Err() != nil {
			return
		}
		failed(err)
		if time.Since(began) > longPause {
			pause = firstPause
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// Together calls the functions, each in a goroutine, and returns when all have returned. If one
// panics, the context of all ends, and Together returns ErrPanic.
func Together(ctx context.Context, log Log, what string, all ...func(context.Context)) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	var running sync.WaitGroup
	for _, work := range all {
		running.Go(func() {
			if err := Survive(log, what, func() error { work(ctx); return nil }); err != nil {
				end(err)
			}
		})
	}
	running.Wait()
	if err := context.Cause(ctx); errors.Is(err, ErrPanic) {
		return err
	}
	return nil
}

// Poke signals the reader of a channel that has room for one value. If a signal waits there already,
// it does nothing.
func Poke(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
