package serve

import (
	"maps"
	"sync"
	"time"
)

// counts holds the counters of the metrics.
type counts struct {
	start time.Time
	mu    sync.Mutex
	by    map[string]int // number of refused requests, by a word for the reason
}

func newCounts(now time.Time) *counts { return &counts{start: now, by: map[string]int{}} }

func (c *counts) refused(reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.by[reason]++
}

func (c *counts) copy() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.by)
}
