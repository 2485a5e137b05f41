package format

import (
	"fmt"
	"time"
)

// Age writes a duration in its largest unit: 40 s, 3 min, 2 h, 5 d.
func Age(d time.Duration) string {
	for _, unit := range []struct {
		name string
		size time.Duration
	}{{"d", 24 * time.Hour}, {"h", time.Hour}, {"min", time.Minute}} {
		if d >= unit.size {
			return fmt.Sprintf("%d %s", d/unit.size, unit.name)
		}
	}
	return fmt.Sprintf("%d s", max(0, d/time.Second))
}

// Short writes a number of bytes or tokens in at most five characters: 950, 8.4k, 84k, 1.2M.
func Short(n int64) string {
	size, unit := float64(n), ""
	for _, next := range []string{"k", "M", "G", "T"} {
		if size < 999.5 {
			break
		}
		size, unit = size/1000, next
	}
	if unit == "" || size >= 9.95 {
		return fmt.Sprintf("%.0f%s", size, unit)
	}
	return fmt.Sprintf("%.1f%s", size, unit)
}

// Pairs is a small map from strings to strings. The linker fills it, so unlike a Go map it costs no
// time at the start of a program.
type Pairs [][2]string

func (p Pairs) Of(key string) string {
	for _, row := range p {
		if row[0] == key {
			return row[1]
		}
	}
	return ""
}

// Clock writes a time for people. For a time of today, it writes hours, minutes and seconds; for
// any other time, the date, hours and minutes.
func Clock(at, now time.Time) string {
	at, now = at.Local(), now.Local()
	if at.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return at.Format(time.TimeOnly)
	}
	return at.Format("2006-01-02 15:04")
}

// Count writes a number with its noun. The argument one is the noun for the number 1, and many is
// the noun for all other numbers.
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
