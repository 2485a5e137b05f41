package relay

import (
	"path/filepath"
	"testing"
	"time"

	"c2c/broker"
	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
	"c2c/relay"
	"c2c/relay/cache"
)

// A laptop that has connected to this machine sleeps. Its connection looks as if it still stood,
// for hours.
func TestStatusAndListAgreeAboutAMachineThatSleeps(t *testing.T) {
	root, err := atomicfile.Create(filepath.Join(t.TempDir(), "root"))
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	dir, err := root.Sub("relay", true)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	lock, err := atomicfile.OpenLocked(dir, "laptop.lock") // a relay runs for the root
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()
	if ok, err := lock.Try(); !ok || err != nil {
		t.Fatal(ok, err)
	}
	now := time.Now()
	for _, c := range []struct {
		linked      bool
		seen        time.Duration // ago
		list, shows string
	}{
		{true, time.Second, "laptop is linked", "linked for 12 min"},
		{true, 10 * time.Minute, "laptop is linked; last seen 10 min ago", "linked for 12 min; last seen 10 min ago"},
		{false, time.Minute, "laptop was last seen 1 min ago", "not linked for 1 min; last seen 1 min ago"},
	} {
		if err := cache.ChangeHeard(root, "laptop", func(h *cache.HeardHost) { h.Linked, h.Seen = c.linked, mail.Seconds(now.Add(-c.seen)) }); err != nil {
			t.Fatal(err)
		}
		h, err := cache.HeardFrom(root, "laptop")
		if err != nil {
			t.Fatal(err)
		}
		if got := broker.HostSentence(h, now); got != c.list {
			t.Errorf("list says %q, want %q", got, c.list)
		}
		links := []Link{{LinkStatus: relay.LinkStatus{Peer: "laptop", Up: true, Since: now.Add(-12 * time.Minute)}}}
		if err := addFactsOf(root, links); err != nil {
			t.Fatal(err)
		}
		for _, got := range []string{links[0].says(now), checkLink(links[0], now).Detail} {
			if got != "it connects to this machine by ssh; "+c.shows {
				t.Errorf("status or doctor says %q, want %q", got, c.shows)
			}
		}
	}
}
