package sessions

import (
	"time"
)

// ClockSlack is how far ahead a time in a file may be that was just written.
const ClockSlack = time.Minute

// IsFuture says that a time was written while a clock was ahead that is set right now. What was to be done a time after it
// would be done far too late, or never.
func IsFuture(at, now time.Time) bool { return at.After(now.Add(ClockSlack)) }

// Earlier gives the first of two times; a zero time is none.
func Earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// utc leaves the zero time what it is.
func utc(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.UTC()
}
