package broker_test

import (
	"testing"
	"time"

	"c2c/broker"
	"c2c/inbox/mail"
	"c2c/relay/cache"
)

// A machine that another one dials does not notice when that one sleeps. So the list shows when it
// was last heard.
func TestAListSaysNoMoreOfAMachineThanIsKnown(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	ago := func(d time.Duration) float64 { return mail.Seconds(now.Add(-d)) }
	for _, c := range []struct {
		host cache.HeardHost
		want string
	}{
		{cache.HeardHost{}, "devbox was not reached yet"},
		{cache.HeardHost{Seen: ago(3 * time.Hour)}, "devbox was last seen 3 h ago"},
		{cache.HeardHost{Linked: true, Seen: ago(time.Minute)}, "devbox is linked"},
		{cache.HeardHost{Linked: true, Seen: ago(3 * time.Hour)}, "devbox is linked; last seen 3 h ago"},
		{cache.HeardHost{Linked: true, Dials: true, Seen: ago(3 * time.Hour)}, "devbox is linked"},
		{cache.HeardHost{Linked: true, Hub: true, Seen: ago(3 * time.Hour)}, "devbox is reached by hub; last seen 3 h ago"},
	} {
		c.host.Name = "devbox"
		if got := broker.HostSentence(c.host, now); got != c.want {
			t.Errorf("%+v: %q, want %q", c.host, got, c.want)
		}
	}
}
