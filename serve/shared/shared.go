// Package shared runs calls that may hang because a disk does not answer. Each runs in a goroutine of its own, only one at a time for all
// callers that need the same, and nobody has to wait for its end.
package shared

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
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

// Do waits for the running call with this key, and returns its result. If none runs, it first calls work, in another goroutine. When ctx
// ends, Do returns, and the call goes on.
func (c *Calls) Do(ctx context.Context, key string, work func() (string, error)) (string, error) {
	one := c.begin(key, work)
	if err := one.wait(ctx); err != nil {
		return "", err
	}
	return one.result, nil
}

// Each does the same for many keys at the same time. It returns the errors by key. If a call still runs when ctx ends, that is its error.
func (c *Calls) Each(ctx context.Context, keys []string, work func(key string) error) (failed map[string]error) {
	failed = map[string]error{}
	calls := map[string]*call{}
	for _, key := range keys {
		calls[key] = c.begin(key, func() (string, error) { return "", work(key) })
	}
	for key, one := range calls {
		if err := one.wait(ctx); err != nil {
			failed[key] = err
		}
	}
	return failed
}

// wait waits for the end of a call, or of ctx. For a call that did not begin, one is nil.
func (one *call) wait(ctx context.Context) error {
	if one == nil {
		return ErrBusy
	}
	select {
	case <-one.ended:
	case <-ctx.Done():
		select {
		case <-one.ended: // both have ended
		default:
			return fmt.Errorf("perhaps a disk does not answer: %w", ctx.Err())
		}
	}
	return one.err
}

func (c *Calls) begin(key string, work func() (string, error)) *call {
	c.mu.Lock()
	defer c.mu.Unlock()
	one := c.running[key]
	if one == nil && len(c.running) < c.max {
		one = &call{ended: make(chan struct{})}
		c.running[key] = one
		go c.run(key, one, work)
	}
	return one
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
