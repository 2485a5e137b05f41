package ringer

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"c2c/broker/owed"
	"c2c/inbox/mail"
	"c2c/sessions"
	"c2c/sessions/callers"
	"c2c/wake/watch"
)

// Whoever rings tells a sender that its message is unread, at the time and without being asked.
func TestARingerTellsTheSenderInTime(t *testing.T) {
	l := newListed(t)
	birch, err := l.b.Register(t.Context(), callers.Caller{Client: "gem", ClientID: "birch"}, "birch")
	if err != nil {
		t.Fatal(err)
	}
	l.lists()
	if _, err := l.b.Send(t.Context(), birch, mail.Message{To: "amber", Content: "x", TellAfter: 1}); err != nil {
		t.Fatal(err)
	}
	box, err := l.b.Mailbox(birch.ID)
	if err != nil {
		t.Fatal(err)
	}
	lock, err := l.b.Locks.Watchable(box.LockName())
	if err != nil {
		t.Fatal(err)
	}
	changes := watch.NewChanges()
	defer changes.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err = changes.Until(ctx, lock, func() (bool, error) {
		msgs, err := box.Peek(ctx)
		return len(msgs) == 1 && msgs[0].From == sessions.SystemAlias, err
	})
	if err != nil {
		t.Errorf("amber is not told: %v", err)
	}
}

// A process that rings nobody, such as the server of a client without a doorbell, does so, too.
func TestAProcessThatRingsNobodyTellsTheSenderInTime(t *testing.T) {
	r, b, amber, _ := typing(t)
	birch, err := b.Register(t.Context(), callers.Caller{Client: "gem", ClientID: "birch"}, "birch")
	if err != nil {
		t.Fatal(err)
	}
	defer r.StartChecking(t.Context())()
	if _, err := b.Send(t.Context(), amber, mail.Message{To: "birch", Content: "x", TellAfter: 1}); err != nil {
		t.Fatal(err)
	}
	box, err := b.Mailbox(amber.ID)
	if err != nil {
		t.Fatal(err)
	}
	lock, err := b.Locks.Watchable(box.LockName())
	if err != nil {
		t.Fatal(err)
	}
	changes := watch.NewChanges()
	defer changes.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err = changes.Until(ctx, lock, func() (bool, error) {
		msgs, err := box.Peek(ctx)
		return len(msgs) == 1 && msgs[0].From == sessions.SystemAlias, err
	})
	if err != nil {
		t.Errorf("amber is not told of its message to %s: %v", birch.Alias, err)
	}
}

// Another process looks as long as it lives. Then the next one does.
func TestTheNextProcessLooksWhenOneEnds(t *testing.T) {
	_, b, _, _ := typing(t)
	synctest.Test(t, func(t *testing.T) {
		first, err := owed.OpenLock(b.Registry)
		if err != nil {
			t.Fatal(err)
		}
		if ok, err := first.Try(); !ok || err != nil {
			t.Fatal(ok, err)
		}
		second, err := owed.OpenLock(b.Registry)
		if err != nil {
			t.Fatal(err)
		}
		defer second.Release()
		got := make(chan error, 1)
		go func() { got <- await(t.Context(), b, second) }()
		time.Sleep(10 * tryLockAgain)
		select {
		case err := <-got:
			t.Fatalf("two look: %v", err)
		default:
		}
		if err := first.Release(); err != nil {
			t.Fatal(err)
		}
		if err := <-got; err != nil {
			t.Error(err)
		}
	})
}
