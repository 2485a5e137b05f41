package ringer

import (
	"context"
	"time"

	"c2c/broker"
	"c2c/wake/watch"
)

// keepGap is the least time between two looks at what the messages of a root are owed.
const keepGap = time.Second

// keep looks after what the messages of the root are owed, until stop is called. Every process that rings would do
// so; the first that has the lock does.
func (r *Ringer) keep(ctx context.Context, b *broker.Broker, changes *watch.Changes) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := r.keepAlone(ctx, b, changes); err != nil && ctx.Err() == nil {
			r.Log.Warn("nobody here looks after what messages are owed", "err", err)
		}
	}()
	return func() { cancel(); <-done }
}

func (r *Ringer) keepAlone(ctx context.Context, b *broker.Broker, changes *watch.Changes) error {
	lock, err := b.Keeping()
	if err != nil {
		return err
	}
	defer lock.Release()
	if err := changes.Until(ctx, lock.Path(), lock.Try); err != nil {
		return err
	}
	keeper := b.Keeper()
	return changes.Each(ctx, keepGap, func() (files []string, wait time.Duration, err error) {
		wait, err = keeper.Look(ctx)
		if err != nil && ctx.Err() == nil { // the registry may be readable again
			r.Log.Debug("what messages are owed is looked after later", "err", err)
			wait, err = 0, nil
		}
		return keeper.Files(), wait, err
	})
}
