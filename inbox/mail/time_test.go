package mail

import (
	"encoding/json"
	"testing"
	"time"
)

// A hand-written file may give any number, and a time that JSON cannot write would take every
// answer with it.
func TestAnAbsurdTimeIsStillATime(t *testing.T) {
	for ts, want := range map[float64]time.Time{
		1e300: lastTime, -1e300: time.Unix(0, 0), -1: time.Unix(0, 0), 0: time.Unix(0, 0), 1.5: time.UnixMilli(1500), 9e12: lastTime,
	} {
		at := Message{TS: ts}.Time()
		if _, err := json.Marshal(at.In(time.FixedZone("east", 14*3600))); err != nil || !at.Equal(want) {
			t.Errorf("%g is %v, want %v, %v", ts, at, want, err)
		}
	}
}
