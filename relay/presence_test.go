package relay_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"c2c/inbox/mail"
	"c2c/relay"
	"c2c/relay/cache"
	"c2c/relay/relaytest"
)

func heardOf(t *testing.T, h *relaytest.Host, peer string) cache.HeardHost {
	t.Helper()
	host, err := cache.HeardFrom(h.Root(), peer)
	if err != nil {
		t.Fatal(err)
	}
	return host
}

func TestAHostWasLastSeenWhenItsLastPacketCame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net, a, b := pair(t, 1)
		a.Start()
		b.Start()
		wait(t, "linked", func() bool { return heardOf(t, a, "devbox").Linked })
		time.Sleep(3 * time.Hour)
		last := mail.Seconds(time.Now())
		a.Send("devbox", message("ash", "birch", 0))
		wait(t, "drained", func() bool { return a.Drained("devbox") })
		if h := heardOf(t, a, "devbox"); h.Seen < last {
			t.Errorf("a receipt came, but it was last seen %v s before", last-h.Seen)
		}
		time.Sleep(10 * time.Second)
		last = mail.Seconds(time.Now())
		a.Send("devbox", message("ash", "birch", 1))
		wait(t, "drained", func() bool { return a.Drained("devbox") })
		if h := heardOf(t, a, "devbox"); h.Seen >= last {
			t.Error("each packet is written to disk")
		}
		time.Sleep(time.Hour)
		net.Cut(true) // this host may notice that late
		settled()
		if h := heardOf(t, a, "devbox"); h.Linked || h.Seen < last || h.Seen > last+60 {
			t.Errorf("without a link: %+v, its last packet came at %v", h, last)
		}
		a.Stop()
		b.Stop()
	})
}

// A silent peer keeps its link until ssh has waited a minute for an answer.
func TestALostLinkIsNoContactInItsLastMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net, a, b := pair(t, 1)
		a.Way = func(string) relay.Way { return relay.Way{Dials: true} }
		a.Start()
		b.Start()
		wait(t, "linked", func() bool { return heardOf(t, a, "devbox").Linked })
		time.Sleep(3 * time.Hour)
		net.Cut(true)
		settled()
		if h, now := heardOf(t, a, "devbox"), mail.Seconds(time.Now()); h.Linked || now-h.Seen < 60 || now-h.Seen > 120 {
			t.Errorf("it was last seen %v s ago: %+v", now-h.Seen, h)
		}
		a.Stop()
		b.Stop()
	})
}

// Ssh has failed since the relay started, or since it was killed while it had a link.
func TestAHostThatNeverAnsweredWasNotSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, a, _ := pair(t, 1)
		a.Way = func(string) relay.Way { return relay.Way{Dials: true} }
		for _, seen := range []float64{0, mail.Seconds(time.Now().Add(-72 * time.Hour))} {
			if err := cache.ChangeHeard(a.Root(), "devbox", func(h *cache.HeardHost) { h.Linked, h.Dials, h.Seen = seen > 0, seen > 0, seen }); err != nil {
				t.Fatal(err)
			}
			a.Start()
			send(a, "devbox", 0, 0)
			settled()
			time.Sleep(time.Hour)
			if h := heardOf(t, a, "devbox"); h.Linked || h.Seen != seen {
				t.Errorf("it was never there, and was last seen at %v: %+v", seen, h)
			}
			a.Stop()
		}
	})
}

// The machine that does not dial hears nothing when the other one goes to sleep. Its questions
// without an answer are the evidence.
func TestAPeerThatAnswersNoQuestionIsNotLinked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net, a, b := pair(t, 1)
		a.Start()
		b.Start()
		wait(t, "linked", func() bool { return heardOf(t, a, "devbox").Linked })
		settled()
		slept := mail.Seconds(time.Now())
		net.Set(func(n *relaytest.Net) { n.Lose = 1 })
		time.Sleep(time.Hour)
		if !heardOf(t, a, "devbox").Linked {
			t.Error("without a question nobody can know that the peer sleeps")
		}
		a.Send("devbox", message("ash", "birch", 0))
		time.Sleep(30 * time.Second)
		if !heardOf(t, a, "devbox").Linked {
			t.Error("a slow peer is taken for one that sleeps")
		}
		time.Sleep(time.Minute)
		if h := heardOf(t, a, "devbox"); h.Linked || h.Seen > slept {
			t.Errorf("after 90 s without an answer: %+v, it slept at %v", h, slept)
		}
		net.Set(func(n *relaytest.Net) { n.Lose = 0 })
		wait(t, "drained", func() bool { return a.Drained("devbox") })
		wait(t, "linked again", func() bool { return heardOf(t, a, "devbox").Linked })
		a.Stop()
		b.Stop()
	})
}

func TestALinkToAHubIsNoContact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, a, b := pair(t, 1)
		a.Way = func(string) relay.Way { return relay.Way{Hub: true} }
		a.Start()
		b.Start()
		wait(t, "linked", func() bool { return heardOf(t, a, "devbox").Linked })
		if h := heardOf(t, a, "devbox"); !h.Hub || h.Seen != 0 {
			t.Errorf("before a packet came: %+v", h)
		}
		a.Stop()
		b.Stop()
	})
}

func TestAfterAKillALinkIsShownOnlyWhenItIsThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net, a, b := pair(t, 1)
		a.Start()
		b.Start()
		wait(t, "linked", func() bool { return heardOf(t, a, "devbox").Linked })
		a.Stop() // it writes nothing more, as after a kill
		net.Cut(true)
		a.Start()
		a.Relay.Look("devbox")
		settled()
		if h := heardOf(t, a, "devbox"); h.Linked {
			t.Errorf("%+v", h)
		}
		a.Stop()
		b.Stop()
	})
}

func TestMailForAProjectThatIsNotThereWaitsUntilItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net, a, b := pair(t, 1)
		var answers atomic.Int32
		a.Start()
		net.Serve(b, func(packet []byte) error {
			answers.Add(1)
			return relay.AnswerAbsent(t.Context(), b.Peers(), b.Carrier, packet)
		})
		a.SendMany("devbox", "ash", "birch", 0, 300)
		wait(t, "told", func() bool { return heardOf(t, a, "devbox").Absent })
		before := answers.Load()
		time.Sleep(time.Hour)
		if more := answers.Load() - before; more < 10 || more > 14 {
			t.Errorf("asked %d times in an hour", more)
		}
		a.SendMany("devbox", "ash", "birch", 300, 310)
		a.Stop() // the state survives a restart
		a.Start()
		wait(t, "told again", func() bool { return heardOf(t, a, "devbox").Absent && heardOf(t, a, "devbox").Linked })
		net.Serve(b, nil)
		b.Start()
		began := time.Now()
		b.Relay.Announce([]cache.HeardSession{})
		wait(t, "drained", func() bool { return a.Drained("devbox") })
		if late := time.Since(began); late > 10*time.Second {
			t.Errorf("the mail came %s after the project", late)
		}
		if heardOf(t, a, "devbox").Absent {
			t.Error("the project is there, and said to be absent")
		}
		a.Stop()
		b.Stop()
		checkOnce(t, b, "birch", "ash", 310)
	})
}

func TestAHostThatBeginsToRelayForAProjectIsToldTheSessionsThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net, a, b := pair(t, 1)
		a.Start()
		net.Serve(b, func(packet []byte) error { return relay.AnswerAbsent(t.Context(), b.Peers(), b.Carrier, packet) })
		a.Relay.Announce([]cache.HeardSession{{Alias: "ash"}})
		settled() // the hello is dropped
		net.Serve(b, nil)
		net.Cut(false)
		b.Start()
		b.Relay.Announce([]cache.HeardSession{})
		wait(t, "told", func() bool { return len(heardOf(t, b, "laptop").Sessions) == 1 })
		a.Stop()
		b.Stop()
	})
}

func TestStatesThatWentIntoADeadLinkAreSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net, a, b := pair(t, 1)
		a.Start()
		b.Start()
		a.Send("devbox", message("ash", "birch", 0))
		wait(t, "drained", func() bool { return a.Drained("devbox") })
		time.Sleep(time.Minute)
		net.Set(func(n *relaytest.Net) { n.Lose = 1 }) // nobody notices yet
		b.Relay.Report("laptop", []cache.HeardState{{ID: "ash-0", What: "read", By: "hook", At: 10}})
		time.Sleep(time.Hour)
		net.Cut(true)
		net.Set(func(n *relaytest.Net) { n.Lose = 0 })
		net.Cut(false)
		want := mail.Seconds(time.Now()) - 3610
		wait(t, "told", func() bool { return len(reported(t, a)) > 0 })
		if got := reported(t, a); len(got) != 1 || got[0].At < want-5 || got[0].At > want+5 {
			t.Errorf("%+v, want one at %v", got, want)
		}
		time.Sleep(time.Minute)
		a.Send("devbox", message("ash", "birch", 1)) // devbox hears the laptop
		wait(t, "drained", func() bool { return a.Drained("devbox") })
		net.Cut(true)
		net.Cut(false)
		settled()
		if got := reported(t, a); len(got) != 1 {
			t.Errorf("sent again, though the laptop has it: %+v", got)
		}
		a.Stop()
		b.Stop()
	})
}

func reported(t *testing.T, h *relaytest.Host) []cache.HeardState {
	t.Helper()
	all, err := statesOf(h.Root(), "devbox", "ash-0")
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestAHostThatMayReachNothingIsNotToldOfTheProject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net, a, b := pair(t, 1)
		if _, err := b.List.Allow(t.Context(), "laptop", []string{b.Project}, []string{}); err != nil {
			t.Fatal(err)
		}
		a.Start()
		b.Start()
		settled()
		before := net.Sent()
		b.Relay.Announce([]cache.HeardSession{{Alias: "birch"}})
		settled()
		if n := net.Sent() - before; n > 0 {
			t.Errorf("%d packets", n)
		}
		if _, err := b.List.Allow(t.Context(), "laptop", nil, []string{"birch"}); err != nil {
			t.Fatal(err)
		}
		b.Relay.Announce([]cache.HeardSession{{Alias: "birch"}})
		wait(t, "told", func() bool { return len(heardOf(t, a, "devbox").Sessions) == 1 })
		if _, err := b.List.Allow(t.Context(), "laptop", nil, []string{}); err != nil {
			t.Fatal(err)
		}
		b.Relay.Announce([]cache.HeardSession{{Alias: "birch"}})
		wait(t, "told that there is none", func() bool { return len(heardOf(t, a, "devbox").Sessions) == 0 })
		a.Stop()
		b.Stop()
	})
}
