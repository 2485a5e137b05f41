package sessions

import "time"

// ClockSlack is the difference by which a time may be in the future without being wrong.
const ClockSlack = time.Minute

// IsFuture reports whether the time t is so far after now that a wrong clock must have made it.
// Without this check, a delay that begins at t would last too long.
func IsFuture(t, now time.Time) bool { return t.After(now.Add(ClockSlack)) }

// Earlier returns the earlier of two times; a zero time does not count.
func Earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
