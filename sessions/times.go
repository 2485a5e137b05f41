package sessions

import (
	"strconv"
	"time"

	"c2c/internal/atomicfile"
)

// timeText is the text of a note with a time: the nanoseconds since 1970; 0 for the zero time.
func timeText(t time.Time) string {
	if t.IsZero() {
		return "0"
	}
	return strconv.FormatInt(t.UnixNano(), 10)
}

// parseTime is the reverse of timeText. A damaged text has the zero time.
func parseTime(text string) time.Time {
	ns, err := strconv.ParseInt(text, 10, 64)
	if err != nil || ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns)
}

func readTime(dir *atomicfile.Dir, name string) (time.Time, error) {
	text, err := dir.ReadNote(name)
	return parseTime(text), err
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
