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
	all   map[answered]int
}

// answered says which answers are counted together: those of one route with one status.
type answered struct {
	route  string // the route's pattern; "": no route
	status int
}

func newCounts(now time.Time) *counts {
	return &counts{start: now, by: map[string]int{}, all: map[answered]int{}}
}

// answered counts an answer. Status 0 means that no answer was begun, and does not count.
func (c *counts) answered(route string, status int) {
	if status == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all[answered{route, status}]++
}

func (c *counts) refused(reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.by[reason]++
}

func (c *counts) copy() (by map[string]int, all map[answered]int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.by), maps.Clone(c.all)
}
