// Package watch notices that a mailbox changed and rings its session.
//
// On Linux it watches the mailbox's lock file: every writer closes it, so
// IN_CLOSE_WRITE fires for c2c, the original and its Python tools alike, the
// file is never replaced, and senders pay nothing for it. Elsewhere it watches
// the directory. Either way it also looks on its own now and then, so that a
// lost event delays a message and never loses it.
//
// A Watcher serves one session, a Keeper all that a process may ring. When to
// ring is decided by wake.Policy, how by the wake.Methods they are given.
// Nothing is kept on disk here: what was rung for is remembered by the id of
// the oldest message that waited.
package watch

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
