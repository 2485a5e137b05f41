package main

import (
	"context"
	"sync"
	"time"
)

// limit is like context.WithTimeout, but it starts no timer until a caller waits for Done. A timer starts the runtime's poller, which
// costs a thread and five system calls. Few commands ever wait.
type limit struct {
	context.Context
	at time.Time

	mu     sync.Mutex
	waited context.Context // the context with the timer; nil: no caller has waited yet
	cancel context.CancelFunc
}

// within gives ctx a time limit. end stops the timer, if there is one.
func within(ctx context.Context, most time.Duration) (l *limit, end func()) {
	l = &limit{Context: ctx, at: time.Now().Add(most)}
	return l, l.end
}

func (l *limit) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cancel != nil {
		l.cancel()
	}
}

// timed returns the context with the timer. If no such context exists yet, it makes one if wanted is set; otherwise it returns nil.
func (l *limit) timed(wanted bool) context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waited == nil && wanted {
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
		return l.timed(true).Err() // its deadline has passed, so this context has ended already
	}
	return nil
}

// Value passes every key to the context with the timer, if there is one: package context finds the cause of the end in this way.
func (l *limit) Value(key any) any {
	if c := l.timed(false); c != nil {
		return c.Value(key)
	}
	return l.Context.Value(key)
}
