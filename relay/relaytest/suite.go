package relaytest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"c2c/inbox/mail"
)

// Suite runs the tests that every carrier must pass: two hosts exchange mail, whatever the carrier
// does to packets. The function join gives each host a Carrier. The tests start and end the Carrier
// several times.
func Suite(t *testing.T, join func(t *testing.T, all ...*Host)) {
	for name, test := range map[string]func(t *testing.T, a, b *Host){
		"both ways": bothWays, "killed at any step": killedAtAnyStep, "one is away": oneIsAway, "large bodies": largeBodies,
	} {
		t.Run(name, func(t *testing.T) {
			a, b := NewHost(t, "laptop"), NewHost(t, "devbox")
			Pair(a, b)
			join(t, a, b)
			test(t, a, b)
		})
	}
}

func bothWays(t *testing.T, a, b *Host) {
	a.Start()
	b.Start()
	a.SendMany("devbox", "ash", "birch", 0, 1000)
	b.SendMany("laptop", "oak", "cedar", 0, 1000)
	Await(t, a, b, func() bool { return a.Drained("devbox") && b.Drained("laptop") })
	a.Stop()
	b.Stop()
	b.CheckOnce("birch", "ash", 1000)
	a.CheckOnce("cedar", "oak", 1000)
}

func killedAtAnyStep(t *testing.T, a, b *Host) {
	a.Start()
	b.Start()
	for n := range 20 {
		a.SendMany("devbox", "ash", "birch", n*100, (n+1)*100)
		h := []*Host{a, b}[n%2]
		h.KillAfter(n / 2)
		Await(t, a, b, func() bool { return h.Killed() || a.Drained("devbox") })
		h.Stop()
		h.KillAfter(-1)
		h.Start()
	}
	Await(t, a, b, func() bool { return a.Drained("devbox") })
	a.Stop()
	b.Stop()
	b.CheckOnce("birch", "ash", 2000)
}

func oneIsAway(t *testing.T, a, b *Host) {
	a.Start()
	a.SendMany("devbox", "ash", "birch", 0, 500)
	b.Start()
	Await(t, a, b, func() bool { return a.Drained("devbox") })
	b.Stop()
	a.SendMany("devbox", "ash", "birch", 500, 1000)
	b.Start()
	Await(t, a, b, func() bool { return a.Drained("devbox") })
	a.Stop()
	b.Stop()
	b.CheckOnce("birch", "ash", 1000)
}

func largeBodies(t *testing.T, a, b *Host) {
	large := make([]byte, mail.MaxBody)
	for i := range large {
		large[i] = byte(i%26) + 'a'
	}
	for n := range 8 {
		a.Send("devbox", mail.Message{From: "ash", FromSession: "s-ash", To: "birch", ID: fmt.Sprint(n), Content: string(large)})
	}
	a.Start()
	b.Start()
	Await(t, a, b, func() bool { return a.Drained("devbox") })
	a.Stop()
	b.Stop()
	msgs, err := b.Post.Mail("birch")
	if err != nil || len(msgs) != 8 || msgs[7].Content != string(large) {
		t.Errorf("%d of 8 arrived whole, %v", len(msgs), err)
	}
}

// SendMany sends messages of one sender, with the numbers from first to end-1.
func (h *Host) SendMany(peer, sender, to string, first, end int) {
	h.tb.Helper()
	if first == end {
		return
	}
	var msgs []mail.Message
	for n := first; n < end; n++ {
		msgs = append(msgs, mail.Message{From: sender, FromSession: "s-" + sender, To: to, ID: fmt.Sprint(sender, "-", n), Content: fmt.Sprint(n)})
	}
	h.Send(peer, msgs...)
}

// CheckOnce fails the test unless the alias has each of the count messages that the alias sender
// has sent by SendMany exactly once, and in order.
func (h *Host) CheckOnce(alias, sender string, count int) {
	h.tb.Helper()
	msgs, err := h.Post.Mail(alias)
	if err != nil {
		h.tb.Fatal(err)
	}
	next := 0
	for _, m := range msgs {
		if m.FromSession[len(m.FromSession)-len(sender):] != sender {
			continue
		}
		if m.Content != fmt.Sprint(next) {
			h.tb.Fatalf("%s at %s has message %s of %s where %d comes next", alias, h.Name, m.Content, sender, next)
		}
		next++
	}
	if next != count {
		h.tb.Fatalf("%s at %s has %d messages of %s, want %d", alias, h.Name, next, sender, count)
	}
}

// Await waits at most a minute until the condition is true. It calls condition after each step of
// these hosts.
func Await(t *testing.T, a, b *Host, condition func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for !condition() {
		select {
		case <-ctx.Done():
			t.Fatal("it did not happen within a minute")
		case <-a.stepped:
		case <-b.stepped:
		}
	}
}
