package ringer

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"c2c/broker"
	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
	"c2c/sessions"
	"c2c/wake"
)

// listed is a ringer that keeps the right to ring, for the sessions that the test lists.
type listed struct {
	t     *testing.T
	b     *broker.Broker
	amber sessions.Session
	rings bell
	list  chan []sessions.Session
}

func newListed(t *testing.T, change ...func(*Ringer, bell)) *listed {
	t.Helper()
	r, b, s, rings := typing(t)
	for _, f := range change {
		f(r, rings)
	}
	l := &listed{t, b, s, rings, make(chan []sessions.Session)}
	r.Scope.lockPerRing = false
	r.Scope.sessions = func(ctx context.Context, _ *Ringer, _ *broker.Broker) (sessions []sessions.Session, err error) {
		select {
		case sessions = <-l.list:
		case <-ctx.Done():
		}
		return sessions, nil
	}
	if _, err := b.Locks.Watchable(sessions.RegistryLock); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Start(t.Context()))
	return l
}

// lists gives the ringer another list, and returns when it has taken it.
func (l *listed) lists(sessionList ...sessions.Session) {
	f, err := os.OpenFile(filepath.Join(l.b.Root(), sessions.RegistryLock), os.O_RDWR, 0)
	if err != nil {
		l.t.Fatal(err)
	}
	f.Close()
	l.list <- sessionList
}

// claim waits for the right to ring.
func (l *listed) claim() (release func() error) {
	l.t.Helper()
	lock, err := atomicfile.Acquire(l.t.Context(), l.b.Dir(), l.amber.ID+".wake.lock")
	if err != nil {
		l.t.Fatal(err)
	}
	return lock.Release
}

func (l *listed) deliver() {
	l.t.Helper()
	box, err := l.b.Mailbox(l.amber.ID)
	if err == nil {
		_, err = box.Deliver(l.t.Context(), mail.Message{From: "birch", To: "amber", Content: "x", ID: "m-1"})
	}
	if err != nil {
		l.t.Fatal(err)
	}
}

func TestWhoIsListedIsRungUntilItIsNotAnyMore(t *testing.T) {
	l := newListed(t)
	l.lists(l.amber)
	l.deliver()
	if n := <-l.rings; n.Count != 1 || n.Oldest != "m-1" || len(n.From) != 1 || n.From[0] != "birch" {
		t.Errorf("notice %+v", n)
	}
	l.lists()
	l.claim()()
}

// A ring may be the first prompt of a client's conversation, and the session has its id from then
// on. Until then a session whose client was started again has the id of its last conversation.
func TestARingThatBeginsTheConversationIsNotRepeated(t *testing.T) {
	for name, before := range map[string][]string{"the first": nil, "after another one": {"earlier"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newListed(t)
			l.amber.ClientIDs = before
			l.lists(l.amber)
			l.deliver()
			<-l.rings
			begun := l.amber
			begun.ClientIDs = append(slices.Clone(before), "conversation")
			l.lists(begun)
			l.lists(begun) // taken when the watcher of the list before has started
			select {
			case n := <-l.rings:
				t.Errorf("rung again: %+v", n)
			case <-time.After(time.Second):
			}
		})
	}
}

// gone is the doorbell of a client that cannot be reached.
type gone struct{ bell }

func (g gone) Ring(ctx context.Context, n wake.Notice) error {
	return errors.Join(g.bell.Ring(ctx, n), wake.ErrUnreachable)
}

// The client may be back, and then its mail is carried, which only the first ring does.
func TestWhoCouldNotBeReachedIsTriedAsIfForTheFirstTime(t *testing.T) {
	l := newListed(t, func(r *Ringer, rings bell) {
		r.Scope.ways = func(wake.RingContext, wake.Session) (wake.Ways, error) {
			return wake.Ways{Methods: []wake.Method{{Name: "test", Doorbell: gone{rings}}}}, nil
		}
	})
	l.lists(l.amber)
	l.deliver()
	<-l.rings
	for range 100 { // in 10 seconds, before the 15 after which a ring is repeated
		l.lists(l.amber)
		select {
		case <-l.rings:
			return
		case <-time.After(100 * time.Millisecond): // its watcher may be about to end
		}
	}
	t.Error("not rung when it is listed again")
}

// Another process has the right to ring for hours, and the session changes all the time.
func TestWhoWaitsForTheRightToRingLeavesNothingBehindAndTakesOver(t *testing.T) {
	l := newListed(t)
	release := l.claim()
	l.deliver()
	before := 0
	for i := range 100 {
		s := l.amber
		s.Process = i + 1
		l.lists(s)
		if i == 2 {
			before = runtime.NumGoroutine()
		}
	}
	if now := runtime.NumGoroutine(); now > before+10 {
		t.Errorf("%d goroutines, and %d when the session had changed twice", now, before)
	}
	release()
	select {
	case <-l.rings:
	case <-time.After(30 * time.Second): // half of the time after which it looks in any case
		t.Error("the right to ring is not taken")
	}
}
