package relay_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"c2c/inbox/mail"
	"c2c/relay/relaytest"
)

// message is one of a sender, with a number of its own.
func message(sender, to string, n int) mail.Message {
	return mail.Message{From: sender, FromSession: "s-" + sender, To: to, ID: fmt.Sprintf("%s-%d", sender, n), Content: fmt.Sprint(n)}
}

// pair makes two hosts on a net.
func pair(t *testing.T, seed uint64) (net *relaytest.Net, a, b *relaytest.Host) {
	net, a, b = relaytest.NewNet(seed), relaytest.NewHost(t, "laptop"), relaytest.NewHost(t, "devbox")
	relaytest.Pair(a, b)
	net.Join(a)
	net.Join(b)
	return net, a, b
}

// wait waits until something is so.
func wait(t *testing.T, what string, so func() bool) {
	t.Helper()
	for range 100_000 {
		if synctest.Wait(); so() {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatalf("it never happened: %s", what)
}

func ids(t *testing.T, h *relaytest.Host, alias string) (all []string) {
	t.Helper()
	msgs, err := h.Post.Mail(alias)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range msgs {
		all = append(all, m.ID)
	}
	return all
}

func checkOnce(t *testing.T, h *relaytest.Host, alias, sender string, count int) {
	t.Helper()
	h.CheckOnce(alias, sender, count)
}

// The pipe passes what every carrier must pass.
func TestPipe(t *testing.T) {
	relaytest.Suite(t, func(t *testing.T, all ...*relaytest.Host) {
		net := relaytest.NewNet(1)
		for _, h := range all {
			net.Join(h)
		}
	})
}

func TestMailArrives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, a, b := pair(t, 1)
		a.Start()
		b.Start()
		a.Send("devbox", message("ash", "birch", 0))
		wait(t, "drained", func() bool { return a.Drained("devbox") })
		msgs, err := b.Post.Mail("birch")
		if err != nil || len(msgs) != 1 || msgs[0].From != "ash@laptop" || msgs[0].FromSession != "r-laptop.s-ash" || msgs[0].To != "birch" {
			t.Fatalf("birch has %+v, %v", msgs, err)
		}
		a.Stop()
		b.Stop()
	})
}

// Senders and receivers are killed at any step, over a pipe that loses, repeats and reorders.
func TestNothingIsLostDoubledOrReordered(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { chaos(t, seed, 1500) })
		})
	}
}

func chaos(t *testing.T, seed uint64, count int) {
	chance := rand.New(rand.NewPCG(seed, 2))
	net, a, b := pair(t, seed)
	net.Lose, net.Repeat, net.Reorder = 0.1, 0.1, 0.2
	both := []*relaytest.Host{a, b}
	for _, h := range both {
		h.KillAfter(chance.IntN(60))
		h.Start()
	}
	kills := 0
	revive := func() {
		for _, h := range both {
			if h.Killed() {
				h.Stop()
				kills++
				h.KillAfter(chance.IntN(60))
				h.Start()
			}
		}
	}
	for n := 0; n < count; {
		var there, back []mail.Message
		for range min(chance.IntN(100)+1, count-n) {
			there = append(there, message("ash", "birch", n), message("elm", "cedar", n))
			back = append(back, message("oak", "birch", n))
			n++
		}
		a.Send("devbox", there...)
		b.Send("laptop", back...)
		time.Sleep(time.Duration(chance.IntN(3)) * time.Millisecond)
		synctest.Wait()
		revive()
	}
	wait(t, "drained", func() bool { revive(); return a.Drained("devbox") && b.Drained("laptop") })
	a.Stop()
	b.Stop()
	checkOnce(t, b, "birch", "ash", count)
	checkOnce(t, b, "cedar", "elm", count)
	checkOnce(t, a, "birch", "oak", count)
	t.Logf("%d kills, %d packets, steps %v", kills, net.Sent(), a.Steps())
}
