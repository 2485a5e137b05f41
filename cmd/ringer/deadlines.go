package ringer

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"c2c/broker"
	"c2c/broker/moves"
	"c2c/broker/owed"
	"c2c/internal/atomicfile"
	"c2c/internal/daemon"
	"c2c/internal/proc"
	"c2c/sessions"
	"c2c/wake/watch"
)

const (
	// checkGap is the shortest time between two checks of the deadlines of a root: answers that are
	// due, messages that expire, and others.
	checkGap = time.Second
	// tryLockAgain is the pause between two tries to take the lock, in a process that does not
	// ring.
	tryLockAgain = 30 * time.Second
)

// checkDeadlines checks the root's deadlines until stop is called. Every process that rings calls
// checkDeadlines; only the process that gets the lock does the work, for all.
func (r *Ringer) checkDeadlines(ctx context.Context, b *broker.Broker, changes *watch.Changes) (stop func()) {
	return background(ctx, func(ctx context.Context) {
		daemon.SurviveLoop(ctx, r.Log, "check deadlines", func() {
			if err := r.checkWhenLocked(ctx, b, changes); err != nil && ctx.Err() == nil {
				r.Log.Warn("this process cannot check deadlines", "err", err)
			}
		})
	})
}

func (r *Ringer) checkWhenLocked(ctx context.Context, b *broker.Broker, changes *watch.Changes) error {
	lock, err := owed.OpenLock(b.Registry)
	if err != nil {
		return err
	}
	defer lock.Release()
	if err := changes.Until(ctx, lock.Path(), lock.Try); err != nil {
		return err
	}
	return check(ctx, b, changes, r.Log, r.Getenv)
}

// check acts on each deadline until ctx ends or the root is gone. The caller holds the lock.
func check(ctx context.Context, b *broker.Broker, changes *watch.Changes, log *slog.Logger, getenv func(string) string) error {
	checker := broker.NewChecker(b, func(ctx context.Context, text string) error { return proc.ShowOnDesktop(ctx, getenv, text) })
	var daemonAt, tidyAt time.Time // when to start the daemon again if it does not run, and to tidy the root
	return changes.Each(ctx, checkGap, func() (files []string, wait time.Duration, err error) {
		if b.Replaced() {
			return nil, 0, errRootGone
		}
		wait, err = checker.Look(ctx)
		if err != nil && ctx.Err() == nil { // try again: the registry may become readable
			log.Debug("deadlines are checked later", "err", err)
			wait, err = 0, nil
		}
		if !b.Now().Before(tidyAt) {
			tidyAt = moves.TidyDaily(ctx, b.Registry)
		}
		if now := b.Now(); !now.Before(daemonAt) {
			daemonAt = now.Add(sessions.LookEvery)
			if err := broker.StartDaemon(b); err != nil && !errors.Is(err, broker.ErrRelayStopped) {
				log.Warn("the daemon is not started", "err", err)
			}
		}
		return checker.Files(), wait, err
	})
}

// CheckDeadlines checks a root's deadlines until ctx ends or the root is gone. It is for a
// long-lived process that does not ring.
func CheckDeadlines(ctx context.Context, b *broker.Broker, log *slog.Logger, getenv func(string) string) error {
	lock, err := owed.OpenLock(b.Registry)
	if err != nil {
		return err
	}
	defer lock.Release()
	if err := await(ctx, b, lock); err != nil {
		return err
	}
	changes := watch.NewChanges()
	defer changes.Close()
	return check(ctx, b, changes, log, getenv)
}

// await takes the lock as soon as it is free. It polls instead of using a file watch: the system
// gives a user only few watches, and most processes that wait here never get the lock.
func await(ctx context.Context, b *broker.Broker, lock *atomicfile.Lock) error {
	tick := time.NewTicker(tryLockAgain)
	defer tick.Stop()
	for {
		if b.Replaced() {
			return errRootGone
		}
		if ok, err := lock.Try(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// StartChecking checks deadlines until stop is called. It is for a process that does not ring, in
// place of Start.
func (r *Ringer) StartChecking(ctx context.Context) (stop func()) {
	return r.start(ctx, "keep", func(ctx context.Context) error {
		b, err := r.open()
		if err != nil {
			return err
		}
		defer b.Close()
		return CheckDeadlines(ctx, b, r.Log, r.Getenv)
	})
}

// open opens the root if it exists.
func (r *Ringer) open() (*broker.Broker, error) {
	root, err := r.Root()
	if err != nil {
		return nil, err
	}
	return broker.OpenThere(r.Getenv, root, r.Log)
}
