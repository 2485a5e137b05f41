package main

import (
	"context"
	"errors"
	"strconv"
	"time"

	"c2c/broker"
	"c2c/inbox"
	"c2c/wake"
)

// waitFlag is --wait or --wait=5m.
type waitFlag struct {
	on    bool
	limit time.Duration // 0: for ever
}

func (w *waitFlag) String() string   { return "" }
func (w *waitFlag) IsBoolFlag() bool { return true }

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

var errWaited = errors.New("the time of --wait is over")

// await returns when mail waits; at the end of the time the caller finds none.
func (a *app) await(ctx context.Context, b *broker.Broker, m *inbox.Mailbox, limit time.Duration) error {
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, errWaited)
		defer cancel()
	}
	lock, err := b.Watchable(m.LockName())
	if err != nil {
		return err
	}
	err = wake.Wait(ctx, lock, m.Waiting)
	if errors.Is(err, errWaited) {
		return nil
	}
	return err
}
