package main

import (
	"context"
	"errors"
	"strconv"
	"time"

	"c2c/inbox"
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

// waitLook is how often --wait looks. A watch by the system would make every hook start with its library.
const waitLook = 100 * time.Millisecond

// await returns when mail waits; at the end of the time the caller finds none.
func await(ctx context.Context, m *inbox.Mailbox, limit time.Duration) error {
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	tick := time.NewTicker(waitLook)
	defer tick.Stop()
	for {
		if some, err := m.Ready(ctx); ctx.Err() == nil && err != nil || some {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}
