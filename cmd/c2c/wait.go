package main

import (
	"context"
	"time"

	"c2c/cmd/cli"
	"c2c/inbox"
	"c2c/inbox/inotify"
)

const (
	// lookAgain is the time between two checks of a wait if no writer closes the lock file: held mail comes due without a writer, and a
	// killed reader closes no lock.
	lookAgain = time.Second
	// unwatchedLook is the time between two checks of a wait if the system cannot watch files.
	unwatchedLook = 100 * time.Millisecond
)

// await returns when mail waits, or when the time is over.
func (c *call) await(ctx context.Context, m *inbox.Mailbox, wait cli.Wait) error {
	if !wait.ForEver {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, wait.Limit)
		defer cancel()
	}
	err := c.until(ctx, m.LockName(), m.Stamp, func() (bool, error) {
		some, err := m.Ready(ctx)
		if ctx.Err() != nil {
			err = nil
		}
		return some, err
	})
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// until returns when ready returns true or an error, or when ctx ends. It calls ready at once, from time to time, and when a writer has
// closed the lock file and the mailbox's stamp has changed. ready closes that file too, but does not change the stamp.
func (c *call) until(ctx context.Context, lock string, stamp func() (inbox.Stamp, error), ready func() (bool, error)) error {
	told, watched, stop := c.closes(lock)
	defer stop()
	every := unwatchedLook
	if watched {
		every = lookAgain
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	return untilTold(ctx, told, tick.C, stamp, ready)
}

// closes sends on told when a writer closes a lock file of the root, until stop is called. watched is false if the system cannot report
// that a file was closed.
func (c *call) closes(lock string) (told <-chan struct{}, watched bool, stop func()) {
	one := make(chan struct{}, 1) // several closes count as one
	watch := inotify.Open(func(int, string) {
		select {
		case one <- struct{}{}:
		default:
		}
	})
	if watch == nil {
		return one, false, func() {}
	}
	path, err := c.b.Locks.Watchable(lock)
	if err == nil {
		_, err = watch.Add(path)
	}
	return one, err == nil, watch.Close
}

func untilTold(ctx context.Context, told <-chan struct{}, tick <-chan time.Time, stamp func() (inbox.Stamp, error), ready func() (bool, error)) error {
	for {
		// Read the stamp before looking, and arm the watch before both, so that no change gets lost.
		before, err := stamp()
		if err != nil {
			return err
		}
		if ok, err := ready(); ok || err != nil {
			return err
		}
		for changed := false; !changed; {
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-tick:
				changed = true
			case <-told:
				now, err := stamp()
				if err != nil {
					return err
				}
				changed = now != before
			}
		}
	}
}
