package main

import (
	"context"
	"sync"
	"time"
)

// limit is like a context of context.WithTimeout, but it starts no timer until a caller needs the
// channel of Done. Few commands need that channel. A timer would start the runtime's poller, which
// costs a thread and five system calls.
type limit struct {
	context.Context
	at time.Time // the deadline

	mu     sync.Mutex
	waited context.Context // the context with the timer; nil: no caller has needed it yet
	cancel context.CancelFunc
}

// within gives ctx a time limit. The function end stops the timer, if there is one.
func within(ctx context.Context, d time.Duration) (l *limit, end func()) {
	l = &limit{Context: ctx, at: time.Now().Add(d)}
	return l, l.end
}

func (l *limit) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cancel != nil {
		l.cancel()
	}
}

// timed returns the context with the timer. If there is none yet, timed makes one if create is set,
// and otherwise returns nil.
func (l *limit) timed(create bool) context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waited == nil && create {
		l.waited, l.cancel = context.WithDeadline(l.Context, l.at)
	}
	return l.waited
}

func (l *limit) Deadline() (time.Time, bool) {
	if at, ok := l.Context.Deadline(); ok && at.Before(l.at) {
		return at, true
	}
	return l.at, true
}

func (l *limit) Done() <-chan struct{} { return l.timed(true).Done() }

func (l *limit) Err() error {
	if c := l.timed(false); c != nil {
		return c.Err()
	}
	if err := l.Context.Err(); err != nil {
		return err
	}
	if !time.Now().Before(l.at) {
		return l.timed(true).Err() // the deadline has passed, so the context with the timer has ended already
	}
	return nil
}

// Value passes the key to the context with the timer, if there is one. Package context uses this to
// find out why a context has ended.
func (l *limit) Value(key any) any {
	if c := l.timed(false); c != nil {
		return c.Value(key)
	}
	return l.Context.Value(key)
}
