//go:build !portable

package main

import (
	"context"
	"errors"
	"testing"

	"c2c/broker"
)

// Without a tick: only the change itself can end the wait. The look's own lock is no change.
func TestAWaitWakesOnTheChangeItself(t *testing.T) {
	root := scratch(t)
	b, err := broker.Open(broker.Config{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	m, err := b.Mailbox("amber")
	if err != nil {
		t.Fatal(err)
	}
	told, add, stop := watchCloses()
	defer stop()
	if path, err := b.Locks.Watchable(m.LockName()); err != nil || !add(path) {
		t.Fatal("the lock file is not watched")
	}
	looks, sent := 0, make(chan struct{})
	err = checkAgain(t.Context(), told, nil, m.Stamp, func() (bool, error) {
		if looks++; looks == 1 {
			defer func() {
				go func() { defer close(sent); run(t, root, "birch", "send", "amber", "come") }()
			}()
		}
		return m.Ready(t.Context())
	})
	<-sent
	if err != nil || looks != 2 {
		t.Errorf("%d looks, %v", looks, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	err = checkAgain(ctx, told, nil, m.Stamp, func() (bool, error) { cancel(); return false, nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a wait that is cancelled: %v", err)
	}
}
