package outside

import (
	"math"
	"sync"
	"time"

	"c2c/internal/daemon"
)

var perSender = daemon.Limit{Burst: 10, Interval: 2 * time.Second}

// rates bounds how often each sender writes. The counts are only in memory, so they begin anew when
// the daemon restarts.
type rates struct {
	now func() time.Time

	mu  sync.Mutex
	all map[string]daemon.Bucket // few names: the list of senders has few, and all strangers of a bridge share one
}

func newRates(now func() time.Time) *rates {
	return &rates{now: now, all: map[string]daemon.Bucket{}}
}

// take takes a turn from the bucket of a name. It returns 0; or, if no turn is left, the number of
// seconds until the next turn.
func (r *rates) take(name string) (wait int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	b := r.all[name]
	ok := b.Take(perSender, now)
	r.all[name] = b
	if ok {
		return 0
	}
	return max(1, int(math.Ceil(b.Wait(perSender, now).Seconds())))
}
