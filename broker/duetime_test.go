package broker_test

import (
	"strings"
	"testing"
	"time"

	"c2c/broker/owed"
	"c2c/inbox/mail"
)

func TestTheTimesOfObligationsAreSet(t *testing.T) {
	t.Parallel()
	for value, c := range map[string]struct {
		want  string
		wrong string // what the error names
	}{
		"":                                 {"blocking=10m0s,urgent=30m0s,normal=4h0m0s", ""},
		"urgent=1h":                        {"blocking=10m0s,urgent=1h0m0s,normal=4h0m0s", ""},
		" normal = 90s , blocking=2m ":     {"blocking=2m0s,urgent=30m0s,normal=1m30s", ""},
		"urgent=1h,soon=2h":                {"blocking=10m0s,urgent=1h0m0s,normal=4h0m0s", `"soon=2h"`},
		"urgent=1h,normal=-1s,blocking=2m": {"blocking=2m0s,urgent=1h0m0s,normal=4h0m0s", `"normal=-1s"`},
		"urgent":                           {"blocking=10m0s,urgent=30m0s,normal=4h0m0s", `"urgent"`},
		"urgent=1h,":                       {"blocking=10m0s,urgent=1h0m0s,normal=4h0m0s", `""`},
	} {
		times, err := owed.ObligationTimesOf(func(string) string { return value })
		if got := times.String(); got != c.want || (err != nil) != (c.wrong != "") || err != nil && !strings.HasPrefix(err.Error(), c.wrong) {
			t.Errorf("%q: %s, %v", value, got, err)
		}
	}
	w, amber, birch, _ := asks(t, mail.Message{Kind: "question", Tag: "urgent"})
	if due := w.owesOne(birch).Due; !due.Equal(w.clock.Add(30 * time.Minute).UTC().Truncate(time.Microsecond)) {
		t.Errorf("an answer to %s is due at %s, now is %s", amber.Alias, due, w.clock)
	}
}
