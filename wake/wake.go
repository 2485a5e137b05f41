// Package wake notices that a mailbox changed.
//
// On Linux it watches the mailbox's lock file: every writer closes it, so
// IN_CLOSE_WRITE fires for c2c, the original and its Python tools alike, the
// file is never replaced, and senders pay nothing for it. Elsewhere it watches
// the directory. Either way it also looks on its own now and then, so that a
// lost event delays a message and never loses it.
package wake

import (
	"context"
	"time"
)

// recheck is the longest that a lost event can delay a message.
const recheck = 30 * time.Second

// Wait returns when ready says true or fails, or when ctx ends. lockFile must exist.
func Wait(ctx context.Context, lockFile string, ready func() (bool, error)) error {
	changed, stop, every := watch(lockFile)
	defer stop()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		// After the watch is armed, so that nothing falls in between.
		if ok, err := ready(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-changed:
		case <-tick.C:
		}
	}
}

// pollEvery is how often Wait looks when the system's watches have run out.
const pollEvery = time.Second

func noWatch() (<-chan struct{}, func(), time.Duration) {
	return nil, func() {}, pollEvery
}
