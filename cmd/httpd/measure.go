package httpd

import (
	"context"
	"io"
	"slices"

	"c2c/broker/owed"
	"c2c/process/survive"
)

// measure writes the statistics of the daemon's open roots. It skips a root that it cannot read, and logs the error.
func (h *Host) measure(roots func() []string) func(context.Context, io.Writer) {
	return func(ctx context.Context, w io.Writer) {
		var all []owed.Stats
		for _, root := range slices.Compact(slices.Sorted(slices.Values(roots()))) {
			var st owed.Stats
			err := survive.Call(h.Log, "count obligations", func() (err error) {
				st, err = h.statsOf(ctx, root)
				return err
			})
			if err != nil {
				h.Log.Warn("the obligations of a root could not be counted", "root", root, "err", err)
				continue
			}
			all = append(all, st)
		}
		owed.Prometheus(w, all...) // ignore a write error: nobody could read about it
	}
}

// statsOf opens the root itself and closes it again, so that measuring keeps no root open.
func (h *Host) statsOf(ctx context.Context, root string) (owed.Stats, error) {
	b, err := h.openFor(root, h.Log)
	if err != nil {
		return owed.Stats{}, err
	}
	defer b.Close()
	return owed.ReadStats(ctx, b.Registry)
}
