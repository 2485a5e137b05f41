package main

import (
	"context"
	"time"

	"c2c/cmd/cli"
	"c2c/inbox"
	"c2c/internal/inotify"
)

const (
	// lookAgain is the time between two checks if no writer closes the lock file. Mail may become
	// ready without a writer: the time at which it may be handed over has come, or a reader that
	// had leased it was killed.
	lookAgain = time.Second
	// unwatchedLook is the time between two checks if the system cannot watch files.
	unwatchedLook = 100 * time.Millisecond
	// lookGap is the shortest time between two looks of untilChanges.
	lookGap = 100 * time.Millisecond
)

// await waits until mail is ready in the mailbox, or until the time of the option --wait is over.
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

// until calls the function check again and again, and returns when check returns true or an error,
// or when ctx ends. It calls check at once, then from time to time, and when a writer has closed
// the lock file. The function check closes this file, too. Therefore a close counts only if the
// mailbox's stamp has changed.
func (c *call) until(ctx context.Context, lock string, stamp func() (inbox.Stamp, error), check func() (bool, error)) error {
	closed, add, stop := watchCloses()
	defer stop()
	every := unwatchedLook
	if path, err := c.b.Locks.Watchable(lock); err == nil && add(path) {
		every = lookAgain
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	return checkAgain(ctx, closed, tick.C, stamp, check)
}

// untilChanges calls the function look at once, when a writer has closed one of the files that look
// has returned, and from time to time. It returns when look returns an error, or when ctx ends.
func untilChanges(ctx context.Context, look func() (files []string, err error)) error {
	closed, add, stop := watchCloses()
	defer stop()
	tick := time.NewTicker(lookAgain / 2)
	defer tick.Stop()
	for {
		files, err := look()
		if err != nil {
			return err
		}
		for _, path := range files {
			add(path) // add the file each time: another file may have replaced it
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-closed:
			time.Sleep(lookGap)
		case <-tick.C:
		}
	}
}

// watchCloses returns a channel that gets a value when a writer closes a file. The function add
// adds a file; it returns false if the system cannot watch the file. The caller ends the watch with
// the function stop.
func watchCloses() (closed <-chan struct{}, add func(path string) bool, stop func()) {
	one := make(chan struct{}, 1) // several closes count as one
	watch := inotify.Open(func(int, string) {
		select {
		case one <- struct{}{}:
		default:
		}
	})
	if watch == nil {
		return one, func(string) bool { return false }, func() {}
	}
	return one, func(path string) bool { _, err := watch.Add(path); return err == nil }, watch.Close
}

func checkAgain(ctx context.Context, closed <-chan struct{}, tick <-chan time.Time, stamp func() (inbox.Stamp, error), check func() (bool, error)) error {
	for {
		// So that no change gets lost, read the stamp before the check. For the same reason the
		// caller watches the file already.
		before, err := stamp()
		if err != nil {
			return err
		}
		if ok, err := check(); ok || err != nil {
			return err
		}
		for changed := false; !changed; {
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-tick:
				changed = true
			case <-closed:
				now, err := stamp()
				if err != nil {
					return err
				}
				changed = now != before
			}
		}
	}
}
