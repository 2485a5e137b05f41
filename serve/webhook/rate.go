package webhook

import (
	"math"
	"sync"
	"time"
)

const (
	burst  = 10              // messages at once
	refill = 2 * time.Second // for each further one

	badBurst  = 20 // requests without a key that are answered in full, in a second
	badRefill = time.Second / badBurst

	maxBuckets = 4096
)

// rates bound how often somebody writes. They are kept in memory: a daemon that is started anew begins anew.
type rates struct {
	now func() time.Time

	mu  sync.Mutex
	all map[string]bucket
	bad bucket
}

// bucket holds a number of turns that fills up with time.
type bucket struct {
	left float64
	at   time.Time
}

func newRates(now func() time.Time) *rates {
	return &rates{now: now, all: map[string]bucket{}, bad: bucket{badBurst, now()}}
}

// take takes a turn of a name. wait is 0, or in how many seconds there is one.
func (r *rates) take(name string) (wait int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	b, known := r.all[name]
	if !known {
		r.forget(now)
		b = bucket{burst, now}
	}
	ok := b.take(now, burst, refill)
	r.all[name] = b
	if ok {
		return 0
	}
	return max(1, int(math.Ceil((1-b.left)*refill.Seconds())))
}

// takeBad takes a turn of those who have no key.
func (r *rates) takeBad() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.bad.take(r.now(), badBurst, badRefill)
}

func (b *bucket) take(now time.Time, most float64, each time.Duration) bool {
	b.left = min(most, b.left+max(0, now.Sub(b.at).Seconds()/each.Seconds()))
	b.at = now
	if b.left < 1 {
		return false
	}
	b.left--
	return true
}

// forget drops those that are full again, when there are many. It is called with the lock.
func (r *rates) forget(now time.Time) {
	if len(r.all) < maxBuckets {
		return
	}
	for name, b := range r.all {
		if b.left+now.Sub(b.at).Seconds()/refill.Seconds() >= burst {
			delete(r.all, name)
		}
	}
}
