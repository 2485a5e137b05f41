package relay_test

import (
	"errors"
	"flag"
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
		if settled(); so() {
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

var (
	messages = flag.Int("messages", 4000, "how many messages the hosts of a test with random kills exchange")
	archived = flag.Int("archived", 0, "how many messages a receiver there has read before; more than 0: in a real mailbox")
)

// Senders and receivers are killed at any step, over a pipe that loses, repeats and reorders. A
// quarter of the deliveries fail.
func TestNothingIsLostDoubledOrReordered(t *testing.T) {
	for seed := range uint64(4) {
		for _, hosts := range []int{2, 5} {
			t.Run(fmt.Sprintf("%d hosts, %d", hosts, seed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { chaos(t, seed, hosts) })
			})
		}
	}
}

// chaos has each host send mail to each other one.
func chaos(t *testing.T, seed uint64, count int) {
	chance := rand.New(rand.NewPCG(seed, 2))
	net, all := relaytest.NewNet(seed), []*relaytest.Host{}
	for i := range count {
		h, busy := relaytest.NewHost(t, fmt.Sprint("h", i)), rand.New(rand.NewPCG(seed, uint64(3+i)))
		h.Post.Boxes = *archived > 0
		if err := h.Post.Archive("birch", *archived); err != nil {
			t.Fatal(err)
		}
		h.Post.Fail = func(string) error { // Post calls it under a lock
			if busy.IntN(4) == 0 {
				return errors.New("the mailbox is locked")
			}
			return nil
		}
		net.Join(h)
		for _, other := range all {
			relaytest.Pair(h, other)
		}
		all = append(all, h)
	}
	net.Lose, net.Repeat, net.Reorder = 0.1, 0.1, 0.2
	for _, h := range all {
		h.KillAfter(chance.IntN(40))
		h.Start()
	}
	kills := 0
	revive := func() {
		for _, h := range all {
			if h.Killed() {
				h.Stop()
				kills++
				h.KillAfter(chance.IntN(40))
				h.Start()
			}
		}
	}
	each := *messages / (2 * count * (count - 1))
	pairs := func(do func(from, to *relaytest.Host)) {
		for _, from := range all {
			for _, to := range all {
				if from != to {
					do(from, to)
				}
			}
		}
	}
	for first := 0; first < each; {
		last := min(first+chance.IntN(40)+1, each)
		pairs(func(from, to *relaytest.Host) {
			middle := first + chance.IntN(last-first)
			from.SendMany(to.Name, "ash-"+from.Name, "birch", first, middle)
			from.SendMany(to.Name, "ash-"+from.Name, "birch", middle, last)
			from.SendMany(to.Name, "elm-"+from.Name, "cedar", first, last)
		})
		first = last
		time.Sleep(time.Duration(chance.IntN(3)) * time.Millisecond)
		settled()
		revive()
	}
	wait(t, "drained", func() bool {
		revive()
		drained := true
		pairs(func(from, to *relaytest.Host) { drained = drained && from.Drained(to.Name) })
		return drained
	})
	for _, h := range all {
		h.Stop()
	}
	pairs(func(from, to *relaytest.Host) {
		to.CheckOnce("birch", "ash-"+from.Name, each)
		to.CheckOnce("cedar", "elm-"+from.Name, each)
	})
	t.Logf("%d messages, %d kills, %d packets, steps of one host %v", 2*each*count*(count-1), kills, net.Sent(), all[0].Steps())
}

// settled waits until nothing happens any more. A goroutine that waits for a lock tries again after
// a few milliseconds.
func settled() {
	for range 3 {
		synctest.Wait()
		time.Sleep(10 * time.Millisecond)
	}
	synctest.Wait()
}
