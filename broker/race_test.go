package broker_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"c2c/broker"
	"c2c/inbox/mail"
	"c2c/sessions/callers"
)

// Two brokers on one root stand for two processes: their locks are of different open files.
func TestNothingIsLostWhileAnAliasChangesHands(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	other, err := broker.Open(broker.Config{Root: w.Root()})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	amber := w.register("amber", callers.Caller{Explicit: "amber"})
	w.register("birch", callers.Caller{Explicit: "old", PID: w.pid(20)})
	w.ends(20)

	const count = 40
	var group sync.WaitGroup
	group.Go(func() {
		for i := range count {
			if _, err := other.Send(ctx, amber, mail.Message{To: "birch", Content: fmt.Sprint(i)}); err != nil {
				t.Errorf("send: %v", err)
			}
		}
	})
	group.Go(func() { w.register("birch", callers.Caller{Explicit: "heir", PID: w.pid(30)}) })
	for i := range 4 {
		group.Go(func() {
			if _, err := other.Attach(ctx, callers.Caller{Client: "codex", ClientID: fmt.Sprintf("t%d", i%2)}); err != nil {
				t.Errorf("attach: %v", err)
			}
		})
	}
	group.Wait()

	box, err := w.Mailbox("heir")
	if err != nil {
		t.Fatal(err)
	}
	waiting, err := box.Peek(ctx)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, m := range waiting {
		seen[m.Content] = true
	}
	if len(waiting) != count || len(seen) != count {
		t.Errorf("%d messages, %d different, want %d", len(waiting), len(seen), count)
	}
	if list, err := w.Sessions(ctx); err != nil || len(list) != 4 {
		t.Errorf("%d sessions, %v; want amber, heir and one for each thread", len(list), err)
	}
}
