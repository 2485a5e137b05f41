// Package wake notices that a mailbox changed and makes its session look.
//
// On Linux it watches the mailbox's lock file: every writer closes it, so
// IN_CLOSE_WRITE fires for c2c, the original and its Python tools alike, the
// file is never replaced, and senders pay nothing for it. Elsewhere it watches
// the directory. Either way it also looks on its own now and then, so that a
// lost event delays a message and never loses it.
//
// A Watcher decides when a session is rung (policy.go); how is the business of
// the Methods it is given, one folder each. Nothing is kept on disk here: what
// was rung for is remembered by the id of the oldest message that waited.
package wake

import (
	"context"
	"time"
)

const (
	recheck   = time.Minute // the longest that a lost event can delay a message
	pollEvery = time.Second // when the system's watches have run out
)

// Wait returns when ready says true or fails, or when ctx ends. lockFile must exist.
func Wait(ctx context.Context, lockFile string, ready func() (bool, error)) error {
	changes := NewChanges()
	defer changes.Close()
	sub := changes.Subscribe(lockFile)
	defer sub.Close()
	tick := time.NewTicker(sub.every)
	defer tick.Stop()
	for {
		// After the watch is armed, so that nothing falls in between.
		if ok, err := ready(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-sub.changed:
		case <-tick.C:
		}
	}
}
