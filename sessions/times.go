package sessions

import (
	"time"
)

// ClockSlack is how far ahead a freshly written time may be.
const ClockSlack = time.Minute

// IsFuture reports whether at is so far after now that a wrong clock must have written it. Without this check, a delay from at on
// would last too long.
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
