package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"time"

	"c2c/broker"
	"c2c/inbox"
	"c2c/wake"
	"c2c/wake/watch"
)

// rootLook is how often, at the least and at the most, a server looks for a root that nobody has made yet.
const (
	rootLook     = time.Second
	rootLookMost = 30 * time.Second
)

// errRootGone ends a keeper whose root was removed or made anew.
var errRootGone = errors.New("root was replaced")

// reach is what a process knows of the sessions that it may ring.
type reach interface {
	// sessions lists them.
	sessions(ctx context.Context, b *broker.Broker) ([]string, error)
	// methods are the ways to one of them. busy may be nil.
	methods(ctx context.Context, s broker.Session, box *inbox.Mailbox, root string) (m []wake.Method, busy func() bool, err error)
}

// ringer wakes sessions for as long as its process lives: an MCP server, the terminal around a client, or
// the wake daemon.
type ringer struct {
	a     *app
	reach reach
	log   *slog.Logger
	// gap is between two rings for the same message, doubling; the policy's when zero.
	gap time.Duration
	// last is for who borrows the right to ring, when no other process has it.
	last bool
}

// start rings until stop is called.
func (r *ringer) start(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.run(ctx)
	}()
	return func() { cancel(); <-done }
}

// run never makes a root: clients start throw-away copies of their servers.
func (r *ringer) run(ctx context.Context) {
	wait := rootLook
	for ctx.Err() == nil {
		if err := r.keep(ctx); err == nil || errors.Is(err, errRootGone) {
			wait = rootLook
		} else {
			r.log.Debug("nobody can be rung yet", "err", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
			wait = min(2*wait, rootLookMost)
		}
	}
}

// keep rings until ctx ends or the root is gone.
func (r *ringer) keep(ctx context.Context) error {
	root, _, err := broker.FindRoot(r.a.getenv, r.a.cwd)
	if err != nil {
		return err
	}
	if _, err := os.Stat(root); err != nil {
		return err
	}
	b, err := broker.Open(broker.Config{Root: root, Log: r.log})
	if err != nil {
		return err
	}
	defer b.Close()
	registry, err := b.Watchable(broker.RegistryLock)
	if err != nil {
		return err
	}
	k := &watch.Keeper{
		Registry: registry, Log: r.log,
		Watcher: func(sid string) (*watch.Watcher, error) { return r.watcher(ctx, b, sid) },
		Sessions: func(ctx context.Context) ([]string, error) {
			if b.Replaced() {
				return nil, errRootGone
			}
			return r.reach.sessions(ctx, b)
		},
	}
	if !r.last {
		k.Claim = b.ClaimRinging
	}
	return k.Run(ctx)
}

func (r *ringer) watcher(ctx context.Context, b *broker.Broker, sid string) (*watch.Watcher, error) {
	s, err := b.Resolve(ctx, broker.Caller{Explicit: sid})
	if err != nil {
		return nil, err
	}
	box, err := b.Mailbox(sid)
	if err != nil {
		return nil, err
	}
	lock, err := b.Watchable(box.LockName())
	if err != nil {
		return nil, err
	}
	methods, busy, err := r.reach.methods(ctx, s, box, b.Root())
	if err != nil {
		return nil, err
	}
	record := func(ctx context.Context, ring wake.Ring) {
		if err := b.Rang(ctx, sid, ring); err != nil {
			r.log.Warn("ring is not recorded", "session", sid, "err", err)
		}
	}
	quiet := func() bool {
		s, err := b.Resolve(ctx, broker.Caller{Explicit: sid})
		return err == nil && s.Quiet
	}
	w := &watch.Watcher{Box: box, Lock: lock, Methods: methods, Busy: busy, Quiet: quiet, Record: record, Now: time.Now, Gap: r.gap}
	if r.last {
		w.Borrow = func() (func() error, bool, error) { return b.BorrowRinging(sid) }
	}
	return w, nil
}
