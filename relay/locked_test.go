package relay_test

import (
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
	"c2c/relay"
	"c2c/relay/cache"
	"c2c/relay/relaytest"
)

// lockBirch makes the mailbox of birch at h fail until the result is set to false.
func lockBirch(h *relaytest.Host) *atomic.Bool {
	locked := &atomic.Bool{}
	locked.Store(true)
	h.Post.Fail = func(alias string) error {
		if locked.Load() && alias == "birch" {
			return errors.New("the mailbox is locked")
		}
		return nil
	}
	return locked
}

// The mail for birch cannot be stored for a day. The mail for cedar is in other frames, more than
// may be under way at once.
func TestAMailboxThatCannotBeWrittenHoldsUpOnlyItsOwnMail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net, a, b := pair(t, 1)
		locked := lockBirch(b)
		a.Start()
		b.Start()
		send(a, "devbox", 0, 0)
		settled()
		for n := range 100 {
			a.Send("devbox", message("ash", "cedar", n))
			settled()
		}
		send(a, "devbox", 1, 1)
		wait(t, "cedar has its mail", func() bool { return len(ids(t, b, "cedar")) == 100 })
		time.Sleep(24 * time.Hour)
		if got := ids(t, b, "birch"); len(got) > 0 || a.Drained("devbox") {
			t.Errorf("birch has %q", got)
		}
		if sent := net.Sent(); sent > 288*8 { // a question each five minutes, with what is sent again after it
			t.Errorf("%d packets were sent in a day", sent)
		}
		locked.Store(false)
		wait(t, "drained", func() bool { return a.Drained("devbox") })
		a.Stop()
		b.Stop()
		b.CheckOnce("cedar", "ash", 100)
		b.CheckOnce("birch", "ash", 2)
	})
}

// A hub sends a frame again that was not stored whole, even while newer frames come.
func TestAFrameThatComesAgainHoldsUpNoOtherMail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net, a, b := pair(t, 1)
		lockBirch(b)
		var sent [][]byte
		net.Tamper = func(_, to string, packet []byte) [][]byte {
			if l, _ := relay.LabelOf(packet); to == "devbox" && l.Kind == relay.Frame {
				sent = append(sent, packet)
			}
			return [][]byte{packet}
		}
		a.Start()
		b.Start()
		send(a, "devbox", 0, 0)
		settled()
		net.Set(func(n *relaytest.Net) { n.Tamper = nil })
		for n := range 30 {
			if !slices.ContainsFunc(sent, func(packet []byte) bool { return b.Relay.Packet(t.Context(), packet) != nil }) {
				t.Fatal("a hub would send no frame again")
			}
			a.Send("devbox", message("ash", "cedar", n))
			if settled(); len(ids(t, b, "cedar")) != n+1 {
				t.Fatalf("message %d for cedar waits", n)
			}
		}
		a.Stop()
		b.Stop()
	})
}

// Cedar's session is renamed before birch's mailbox is free. Nothing of what the old session has
// got comes to the new one.
func TestMailThatWasStoredAheadIsNotStoredAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, restart := range []bool{false, true} {
			_, a, b := pair(t, 1)
			locked := lockBirch(b)
			a.Start()
			b.Start()
			send(a, "devbox", 0, 0)
			settled()
			a.Send("devbox", message("ash", "cedar", 0), message("ash", "nobody", 1), mail.Message{From: "ash", FromSession: "s-ash", To: "cedar", ID: "brief", Content: "x", ExpiresAt: mail.Seconds(time.Now().Add(time.Hour))})
			wait(t, "cedar has its mail", func() bool { return len(ids(t, b, "cedar")) == 2 })
			time.Sleep(2 * time.Hour)
			b.Stop()
			if err := b.Root().Remove("mail-cedar"); err != nil {
				t.Fatal(err)
			}
			if restart {
				a.Stop()
				a.Start()
			}
			locked.Store(false)
			b.Start()
			wait(t, "drained", func() bool { return a.Drained("devbox") })
			a.Stop()
			b.Stop()
			if got := ids(t, b, "cedar"); len(got) > 0 {
				t.Errorf("cedar has got %q again", got)
			}
			b.CheckOnce("birch", "ash", 1)
			if want := map[string]relay.Reason{"ash-1": relay.Unknown}; len(a.Post.Refusals) != 1 || a.Post.Refusals["ash-1"] != want["ash-1"] {
				t.Errorf("refused: %v, want %v", a.Post.Refusals, want)
			}
		}
	})
}

// While birch's mailbox cannot be written, the mail after its message comes with another order in
// each round.
func TestMailOfOneTurnKeepsItsOrderOverFrames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, a, b := pair(t, 1)
		a.Start()
		fails := map[string]int{"birch": 5, "cedar": 2}
		b.Post.Fail = func(alias string) error {
			if fails[alias]--; fails[alias] >= 0 {
				return errors.New("the mailbox is locked")
			}
			return nil
		}
		b.Start()
		for n := range 20 {
			send(a, "devbox", n, n)
			a.Send("devbox", message("ash", "cedar", n))
			settled()
		}
		wait(t, "drained", func() bool { return a.Drained("devbox") })
		a.Stop()
		b.Stop()
		b.CheckOnce("birch", "ash", 20)
		b.CheckOnce("cedar", "ash", 20)
		if !slices.Equal(ids(t, b, "cedar")[:2], []string{"ash-0", "ash-1"}) {
			t.Error("cedar has its mail in another order")
		}
	})
}

// A suspended process holds the lock of the outbox for devbox when the relay starts, and again
// later.
func TestALockedOutboxHoldsUpOnlyItsOwnMail(t *testing.T) {
	for _, isFirst := range []bool{true, false} {
		net, a, b := pair(t, 1)
		c := relaytest.NewHost(t, "tablet")
		relaytest.Pair(a, c)
		net.Join(c)
		count := 0
		if !isFirst {
			a.Start()
			b.Start()
			send(a, "devbox", 0, 0)
			relaytest.Await(t, a, b, func() bool { return a.Drained("devbox") })
			a.Stop()
			b.Stop()
			count++
		}
		send(a, "devbox", count, count)
		lk, err := atomicfile.Acquire(t.Context(), a.Root(), relay.Outbox("devbox")+".inbox.lock")
		if err != nil {
			t.Fatal(err)
		}
		defer lk.Release()
		a.Start()
		b.Start()
		c.Start()
		c.Send("laptop", message("elm", "cedar", 0))
		b.Send("laptop", message("oak", "cedar", 0))
		relaytest.Await(t, a, c, func() bool { return c.Drained("laptop") })
		relaytest.Await(t, a, b, func() bool { return b.Drained("laptop") })
		a.Relay.Announce([]cache.HeardSession{{Alias: "ash"}})
		for n := 1; len(known(t, b, "laptop")) == 0; n++ { // a hello is no step for which Await waits
			b.Send("laptop", message("oak", "cedar", n))
			relaytest.Await(t, a, b, func() bool { return b.Drained("laptop") })
		}
		lk.Release()
		relaytest.Await(t, a, b, func() bool { return a.Drained("devbox") })
		b.CheckOnce("birch", "ash", count+1)
		for _, h := range []*relaytest.Host{a, b, c} {
			h.Stop()
		}
	}
}

// known returns the sessions of a peer that a host knows.
func known(t *testing.T, h *relaytest.Host, peer string) []cache.HeardSession {
	t.Helper()
	host, err := cache.HeardFrom(h.Root(), peer)
	if err != nil {
		t.Fatal(err)
	}
	return host.Sessions
}

// Each message is large, so that the leases of the outbox fill the window. A part of the first
// lease is stored.
func TestALargeOutboxBehindALockedMailboxCostsLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net, a, b := pair(t, 1)
		lockBirch(b)
		a.Start()
		b.Start()
		a.Send("devbox", message("ash", "cedar", 1000), message("ash", "birch", 0))
		settled()
		for n := range 150 {
			m := message("ash", "cedar", n)
			m.Content = strings.Repeat("x", 60<<10)
			a.Send("devbox", m)
		}
		time.Sleep(2 * time.Minute)
		before := net.Sent()
		time.Sleep(2 * time.Minute)
		if sent := net.Sent() - before; sent > 288*8 { // a question each five minutes, with what is sent again after it
			t.Errorf("%d packets were sent in two minutes", sent)
		}
		a.Stop()
		b.Stop()
	})
}

// Where no event tells of a change, a host looks once a second, as on macOS.
func TestAPacketThatWasNotTakenIsSentAgainHoweverOftenTheHostLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, a, b := pair(t, 1)
		locked := lockBirch(b)
		a.Start()
		b.Start()
		send(a, "devbox", 0, 0)
		time.Sleep(10 * time.Second) // then a question comes less often than a look
		locked.Store(false)
		for range 60 {
			a.Relay.Look("devbox")
			time.Sleep(time.Second)
		}
		if !a.Drained("devbox") {
			t.Error("the mail has not come in a minute")
		}
		a.Stop()
		b.Stop()
	})
}
