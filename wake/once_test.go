package wake

import (
	"testing"
	"time"

	"c2c/inbox/mail"
)

func TestARingerOfOneLookBacksOffByWhatIsRecorded(t *testing.T) {
	at := time.Unix(1_000_000, 0)
	waiting := []mail.Message{{ID: "later", Deferrable: true}, {ID: "m1", From: "birch"}, {ID: "m2", From: "coral"}}
	rang := Ring{At: at, Outcome: Rang, Oldest: "m1", From: "birch"}
	for _, tc := range []struct {
		what  string
		after time.Duration
		last  Ring
		tries int
		want  string
	}{
		{"never rung", 0, Ring{}, 0, Rang},
		{"by a server that counted for itself", 14 * time.Second, rang, 0, Coalesced},
		{"and 15 s are over", 15 * time.Second, rang, 0, Rang},
		{"once", 14 * time.Second, rang, 1, Coalesced},
		{"twice", 29 * time.Second, rang, 2, Coalesced},
		{"twice, and 30 s are over", 30 * time.Second, rang, 2, Rang},
		{"often", 10*time.Minute - 1, rang, 1000, Coalesced},
		{"often, and 10 min are over", 10 * time.Minute, rang, 1000, Rang},
		{"for another message", 0, Ring{At: at, Outcome: Rang, Oldest: "m0"}, 5, Rang},
		{"for another sender's message with the same id", 0, Ring{At: at, Outcome: Rang, Oldest: "m1", From: "coral"}, 5, Rang},
		{"in vain", 0, Ring{At: at, Outcome: Failed, Oldest: "m1", From: "birch"}, 5, Rang},
		{"by a clock that was ahead", -time.Hour, rang, 5, Rang},
	} {
		tc.last.Tries = tc.tries
		r, n := DecideOnce(at.Add(tc.after), waiting, false, tc.last)
		if got := r.Outcome; got != tc.want || got == Rang && (n.Count != 2 || n.Oldest != "m1" || r.Oldest != "m1") {
			t.Errorf("%s: %+v, %+v, want %s", tc.what, r, n, tc.want)
		}
	}
	if r, _ := DecideOnce(at, waiting, true, Ring{}); r.Outcome != Filtered {
		t.Errorf("do not disturb: %+v", r)
	}
	if r, _ := DecideOnce(at, waiting[:1], false, Ring{}); r.Outcome != Filtered {
		t.Errorf("mail that may wait: %+v", r)
	}
}
