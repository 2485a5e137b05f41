package main

import (
	"context"
	"io"
	"slices"
	"sync"
	"time"

	"c2c/broker"
)

// lockTime bounds the wait for the locks of a root. It is shorter than the time for all metrics, so
// that the root is counted even then.
const lockTime = 3 * time.Second

// measure writes the statistics of the daemon's open roots, which the function stats reads. It
// skips a root that cannot be read, and logs the error.
func (h *httpHost) measure(roots func() []string, stats func(context.Context, string) (broker.Stats, error)) func(context.Context, io.Writer) {
	return func(ctx context.Context, w io.Writer) {
		ctx, end := context.WithTimeout(ctx, lockTime)
		defer end()
		list := slices.Compact(slices.Sorted(slices.Values(roots())))
		all, errs := make([]broker.Stats, len(list)), make([]error, len(list))
		var each sync.WaitGroup
		for i, root := range list {
			each.Go(func() { all[i], errs[i] = stats(ctx, root) })
		}
		each.Wait()
		for i, err := range slices.Backward(errs) {
			if err != nil {
				h.Log.Warn("the mail of a root could not be counted", "root", list[i], "err", err)
				all = slices.Delete(all, i, i+1)
			}
		}
		broker.Prometheus(w, all...) // ignore a write error: nobody could read about it
	}
}

// statsOf opens the root itself and closes it again, so that measuring keeps no root open.
func (h *httpHost) statsOf(ctx context.Context, root string) (broker.Stats, error) {
	b, err := h.openFor(root, h.Log)
	if err != nil {
		return broker.Stats{}, err
	}
	defer b.Close()
	return b.ReadStats(ctx, b.Now().Add(-broker.CostTime))
}
