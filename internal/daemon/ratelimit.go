// This part bounds how often something may be done. Each use takes a turn, and turns come back as
// time passes. The package writes nothing to disk. Only one goroutine at a time may use a Bucket.

package daemon

import "time"

// Limit allows Burst turns at once; in each Interval one turn comes back.
type Limit struct {
	Burst    float64
	Interval time.Duration
}

// Bucket counts turns against a Limit. The Limit must be the same at every call. The zero Bucket
// has all turns of the burst left.
type Bucket struct {
	used float64   // turns that were taken and had not come back at the last Take
	at   time.Time // the time of the last Take
}

// Take takes a turn. It returns false if no turn is left.
func (b *Bucket) Take(l Limit, now time.Time) bool {
	b.used, b.at = b.Used(l, now), now
	if b.used > l.Burst-1 {
		return false
	}
	b.used++
	return true
}

// Used returns how many turns have not come back yet; 0 means that the whole burst is left.
func (b Bucket) Used(l Limit, now time.Time) float64 {
	return max(0, b.used-max(0, now.Sub(b.at).Seconds())/l.Interval.Seconds())
}

// Wait returns the time until a turn is left, 0 if one is left now.
func (b Bucket) Wait(l Limit, now time.Time) time.Duration {
	return time.Duration(max(0, b.Used(l, now)-(l.Burst-1)) * float64(l.Interval))
}
