package daemon

import (
	"testing"
	"time"
)

func TestABurstAndThenOneInEachInterval(t *testing.T) {
	limit, start := Limit{Burst: 3, Interval: 2 * time.Second}, time.Unix(1_000_000, 0)
	var b Bucket
	for i, c := range []struct {
		after time.Duration
		taken bool
		wait  time.Duration // until the next one
	}{
		{0, true, 0}, {0, true, 0}, {0, true, 2 * time.Second},
		{time.Second, false, time.Second},
		{2 * time.Second, true, 2 * time.Second},
		{-time.Hour, false, 2 * time.Second}, // a clock that was set back gives nothing
		{time.Hour, true, 0},
	} {
		now := start.Add(c.after)
		if taken := b.Take(limit, now); taken != c.taken || b.Wait(limit, now) != c.wait {
			t.Errorf("%d: %v, then %v", i, taken, b.Wait(limit, now))
		}
	}
	if used := b.Used(limit, start.Add(2*time.Hour)); used != 0 {
		t.Errorf("%v are still used", used)
	}
}
