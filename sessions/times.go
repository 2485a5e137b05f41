package sessions

import (
	"strconv"
	"time"

	"c2c/internal/atomicfile"
)

// timeText is the text of a note with a time: the nanoseconds since 1970.
func timeText(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }

// readTime reads a note with a time. A damaged note has the time 0, which is over.
func readTime(dir *atomicfile.Dir, name string) (time.Time, error) {
	text, err := dir.ReadNote(name)
	ns, _ := strconv.ParseInt(text, 10, 64)
	return time.Unix(0, ns), err
}

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
