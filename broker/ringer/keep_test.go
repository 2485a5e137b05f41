package ringer

import (
	"context"
	"testing"
	"time"

	"c2c/broker"
	"c2c/inbox"
	"c2c/wake/watch"
)

// Whoever rings tells a sender that its message is unread, at the time and without being asked.
func TestARingerTellsTheSenderInTime(t *testing.T) {
	l := newListed(t)
	birch, err := l.b.Register(t.Context(), broker.Caller{Client: "gem", ClientID: "birch"}, "birch")
	if err != nil {
		t.Fatal(err)
	}
	l.lists()
	if _, err := l.b.Send(t.Context(), birch, inbox.Message{To: "amber", Content: "x", TellAfter: 1}); err != nil {
		t.Fatal(err)
	}
	box, err := l.b.Mailbox(birch.ID)
	if err != nil {
		t.Fatal(err)
	}
	lock, err := l.b.Watchable(box.LockName())
	if err != nil {
		t.Fatal(err)
	}
	changes := watch.NewChanges()
	defer changes.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err = changes.Until(ctx, lock, func() (bool, error) {
		msgs, err := box.Peek(ctx)
		return len(msgs) == 1 && msgs[0].From == broker.SystemAlias, err
	})
	if err != nil {
		t.Errorf("amber is not told: %v", err)
	}
}
