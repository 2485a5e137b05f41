package mcpserver

import (
	"context"
	"sync"
)

// AfterWrite has done called once: with nil after the answer to the request that
// ctx belongs to has been written whole to the client, else with the reason why
// not: a client that stalled or hung up, a request that it cancelled, a
// shutdown, or an answer that says the request failed. "Written" means handed
// to the operating system; no more can be known about a pipe.
//
// done runs outside the request, whose context has ended by then. The transport
// waits for it before it takes the next tool call and before it ends, so it
// must be quick. AfterWrite reports false, and never calls done, when ctx does
// not come from a transport that can tell.
func AfterWrite(ctx context.Context, done func(error)) bool {
	w, ok := ctx.Value(afterWriteKey{}).(*afterWrite)
	if !ok {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done = append(w.done, done)
	return true
}

type afterWriteKey struct{}

// afterWrite collects what one request's handlers want to be told.
type afterWrite struct {
	mu   sync.Mutex
	done []func(error)
}

// withAfterWrite makes AfterWrite work on the returned context. The caller
// calls tell exactly once, when the fate of the answer is known.
func withAfterWrite(ctx context.Context) (_ context.Context, tell func(error)) {
	w := new(afterWrite)
	tell = func(err error) {
		w.mu.Lock()
		done := w.done
		w.done = nil
		w.mu.Unlock()
		for _, f := range done {
			f(err)
		}
	}
	return context.WithValue(ctx, afterWriteKey{}, w), tell
}
