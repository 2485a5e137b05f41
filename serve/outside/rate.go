package outside

import (
	"math"
	"sync"
	"time"

	"c2c/internal/daemon"
)

const maxBuckets = 4096

var (
	perSender = daemon.Limit{Burst: 10, Interval: 2 * time.Second}
	badKeys   = daemon.Limit{Burst: 20, Interval: time.Second / 20} // for all requests without a valid key together
)

// rates bounds how often each sender writes. The counts are only in memory, so they begin anew when the daemon restarts.
type rates struct {
	now func() time.Time

	mu  sync.Mutex
	all map[string]daemon.Bucket
	bad daemon.Bucket
}

func newRates(now func() time.Time) *rates {
	return &rates{now: now, all: map[string]daemon.Bucket{}}
}

// take takes a turn from the bucket of a name. It returns 0; or, if no turn is left, the number of seconds until the next turn.
func (r *rates) take(name string) (wait int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	b, known := r.all[name]
	if !known {
		r.forget(now)
	}
	ok := b.Take(perSender, now)
	r.all[name] = b
	if ok {
		return 0
	}
	return max(1, int(math.Ceil(b.Wait(perSender, now).Seconds())))
}

// takeBad takes a turn from the common bucket of all requests without a valid key. It returns false if no turn is left.
func (r *rates) takeBad() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.bad.Take(badKeys, r.now())
}

// forget drops unused buckets when there are many: an unused bucket has all its turns, as a new one has. The caller holds the lock.
func (r *rates) forget(now time.Time) {
	if len(r.all) < maxBuckets {
		return
	}
	for name, b := range r.all {
		if b.Used(perSender, now) == 0 {
			delete(r.all, name)
		}
	}
}
