package main

import (
	"context"
	"errors"
	"strconv"
	"time"

	"c2c/inbox"
	"c2c/inbox/inotify"
)

// waitFlag is --wait or --wait=5m.
type waitFlag struct {
	on    bool
	limit time.Duration // 0: for ever
}

func (w *waitFlag) Set(s string) error {
	if on, err := strconv.ParseBool(s); err == nil {
		w.on = on
		return nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return errors.New("want a duration such as 90s or 5m")
	}
	w.on, w.limit = true, d
	return nil
}

const (
	// lookAgain is how often a wait looks beside what it is told: mail that was kept back comes due without a change, and
	// a reader that is killed closes no lock.
	lookAgain = time.Second
	// unwatchedLook is how often it looks where the system tells nothing.
	unwatchedLook = 100 * time.Millisecond
)

// await returns when mail waits; at the end of the time the caller finds none.
func (c *call) await(ctx context.Context, m *inbox.Mailbox, limit time.Duration) error {
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
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

// until returns when ready says true or fails, or when ctx ends. It asks now, when the stamp of a mailbox has changed
// behind a writer that closed its lock file, and now and then: what ready does closes that file too, and is no change.
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

// closes tells when a lock file of the root is closed by a writer, until stop is called. watched is false where nothing
// is told.
func (c *call) closes(lock string) (told <-chan struct{}, watched bool, stop func()) {
	one := make(chan struct{}, 1) // many are one
	watch := inotify.Open(func(int, string) {
		select {
		case one <- struct{}{}:
		default:
		}
	})
	if watch == nil {
		return one, false, func() {}
	}
	path, err := c.b.Watchable(lock)
	if err == nil {
		_, err = watch.Add(path)
	}
	return one, err == nil, watch.Close
}

func untilTold(ctx context.Context, told <-chan struct{}, tick <-chan time.Time, stamp func() (inbox.Stamp, error), ready func() (bool, error)) error {
	for {
		// The stamp is older than the look, and the watch is armed before both: nothing falls in between.
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
