package sessions

import (
	"time"
)

// ClockSlack is how far ahead a freshly written time may be.
const ClockSlack = time.Minute

// IsFuture reports whether a time was written by a clock that was ahead and is right now. Without this check a delay that counts
// from it would last far too long, or forever.
func IsFuture(at, now time.Time) bool { return at.After(now.Add(ClockSlack)) }

// Earlier returns the earlier of two times; a zero time does not count.
func Earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// utc converts a time to UTC, but leaves the zero time as it is.
func utc(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.UTC()
}
