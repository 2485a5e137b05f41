// Package shared runs calls that may hang because a disk does not answer. Each runs in a goroutine of its own, only one at a time for all
// callers that need the same, and nobody has to wait for its end.
package shared

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"c2c/process/survive"
)

// ErrBusy: as many calls run as the limit allows. Probably they hang.
var ErrBusy = errors.New("c2c waits for too many disks that do not answer")

// Calls is a number of calls that run. Calls with the same key do the same. Any goroutine may use it.
type Calls struct {
	max     int
	log     *slog.Logger
	mu      sync.Mutex
	running map[string]*call
}

type call struct {
	ended  chan struct{} // closed when the call has ended and the next fields are set
	result string
	err    error
}

// New makes a Calls that runs at most max calls at a time. If a call panics, the log has the stack.
func New(max int, log *slog.Logger) *Calls {
	return &Calls{max: max, log: log, running: map[string]*call{}}
}

// Do calls work in another goroutine, and returns its result. If a call with this key already runs, Do first waits for its end: that call may
// have looked at the disk before the caller asked. Those who wait for it may share the next call. When ctx ends, Do returns; a call that runs goes on.
func (c *Calls) Do(ctx context.Context, key string, work func() (string, error)) (string, error) {
	one, runs := c.begin(key, work)
	err := one.over(ctx)
	if runs && err == nil {
		one, _ = c.begin(key, work)
		err = one.over(ctx)
	}
	if err != nil {
		return "", err
	}
	return one.result, one.err
}

// Each does the same for many keys at the same time. It returns the errors by key. If a call still runs when ctx ends, that is its error.
func (c *Calls) Each(ctx context.Context, keys []string, work func(key string) error) (failed map[string]error) {
	failed = map[string]error{}
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, key := range slices.Compact(slices.Sorted(slices.Values(keys))) {
		all.Go(func() {
			if _, err := c.Do(ctx, key, func() (string, error) { return "", work(key) }); err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed[key] = err
			}
		})
	}
	all.Wait()
	return failed
}

// over waits for the end of a call. It returns an error if ctx ends before, or if the call did not begin: then one is nil.
func (one *call) over(ctx context.Context) error {
	if one == nil {
		return ErrBusy
	}
	select {
	case <-one.ended:
		return nil
	case <-ctx.Done():
	}
	select {
	case <-one.ended: // both have ended
		return nil
	default:
		return fmt.Errorf("perhaps a disk does not answer: %w", ctx.Err())
	}
}

// begin begins a call, unless one with this key runs. It returns nil if too many run.
func (c *Calls) begin(key string, work func() (string, error)) (one *call, runs bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	one, runs = c.running[key]
	if !runs && len(c.running) < c.max {
		one = &call{ended: make(chan struct{})}
		c.running[key] = one
		go c.run(key, one, work)
	}
	return one, runs
}

func (c *Calls) run(key string, one *call, work func() (string, error)) {
	one.err = survive.Call(c.log, "a call that may hang", func() (err error) {
		one.result, err = work()
		return err
	})
	c.mu.Lock()
	delete(c.running, key)
	c.mu.Unlock()
	close(one.ended)
}
