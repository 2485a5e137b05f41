package main

import (
	"regexp"
	"testing"
)

// A person sees the same clock in a room as in c2c outbox.
func TestAPersonReadsARoomInLocalTime(t *testing.T) {
	t.Parallel()
	k := newKeeper(t)
	const zone = "TZ=Asia/Tokyo"
	k.types("c2c rooms create review && c2c send '#review' hello")
	hour := k.types("date +%H", zone)[:2]
	for _, line := range []string{"c2c rooms history review", "c2c rooms search hello"} {
		out := k.types(line, zone)
		next := k.types("date +%H", zone)[:2] // the hour may just have ended
		if !regexp.MustCompile(`(?m)^(` + hour + `|` + next + `):\d\d:\d\d ada \(person\) `).MatchString(out) {
			t.Errorf("%s at %s o'clock: %s", line, hour, out)
		}
	}
}
