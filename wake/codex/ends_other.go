//go:build !linux || portable

package codex

import (
	"context"
	"time"

	"c2c/internal/proc"
)

// lookEvery is how often untilOneEnds looks.
const lookEvery = time.Second

// untilOneEnds returns when one of the processes or ctx has ended, or up to a second later.
func untilOneEnds(ctx context.Context, pids []int) {
	for {
		for _, pid := range pids {
			if _, err := proc.Read(pid); err != nil {
				return
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(lookEvery):
		}
	}
}
