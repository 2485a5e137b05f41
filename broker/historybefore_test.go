package broker_test

import (
	"fmt"
	"testing"
	"time"

	"c2c/broker"
	"c2c/inbox/mail"
	"c2c/sessions/callers"
)

// pages goes through the past, so many at once.
func pages(t *testing.T, b *broker.Broker, sid string, limit int) (all []string) {
	t.Helper()
	before := broker.Latest
	for range 100 {
		mails, more, err := b.HistoryBefore(t.Context(), sid, before, limit)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range mails {
			all = append(all, m.Content)
			before = broker.PositionOf(m.Message)
		}
		if !more {
			return all
		}
		if len(mails) != limit {
			t.Fatalf("%d messages, and more: want %d", len(mails), limit)
		}
	}
	t.Fatal("it has no end")
	return nil
}

func TestThePastIsPagedByTimeAndNotByReading(t *testing.T) {
	w := newWorld(t)
	amber, birch := w.register("amber", callers.Caller{PID: w.pid(10)}), w.register("birch", callers.Caller{PID: w.pid(20)})
	cedar := w.register("cedar", callers.Caller{PID: w.pid(30)})
	var want []string
	for i := range 23 {
		from, to := amber, "birch"
		if i%3 == 0 {
			from, to = birch, "cedar"
		}
		if i%2 == 0 {
			w.clock = w.clock.Add(time.Second) // two have one time
		}
		body := fmt.Sprint("message ", i)
		if _, err := w.Send(t.Context(), from, mail.Message{To: to, Content: body}); err != nil {
			t.Fatal(err)
		}
		want = append(want, body)
		switch i {
		case 7:
			w.read(cedar.ID) // in another order than they were sent in
		case 11:
			w.read(birch.ID)
		}
	}
	for _, limit := range []int{1, 2, 5, 23, 200} {
		got := pages(t, w.Broker, "", limit)
		seen := map[string]bool{}
		for i, one := range got {
			// Of two with one time any may be the first, but it is the same one each time.
			if n := len(want) - 1 - i; one != want[n] && (n == 0 || one != want[n-1]) && (n == len(want)-1 || one != want[n+1]) {
				t.Errorf("at most %d: %q is at %d", limit, one, i)
			}
			seen[one] = true
		}
		if len(got) != len(want) || len(seen) != len(want) {
			t.Errorf("at most %d: %d messages, %d of them different; want %d", limit, len(got), len(seen), len(want))
		}
	}
	// Of a session those that it has sent and received.
	if got := pages(t, w.Broker, cedar.ID, 3); len(got) != 8 {
		t.Errorf("of cedar %q", got)
	}
	if got := pages(t, w.Broker, amber.ID, 3); len(got) != 15 {
		t.Errorf("of amber %q", got)
	}
}
