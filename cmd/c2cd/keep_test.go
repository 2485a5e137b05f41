package main

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"c2c/broker"
	"c2c/inbox/mail"
	"c2c/wake/watch"
)

// Every process that stays looks after what messages are owed, so no command need do so: a sender
// is told in time, though nobody runs any.
func TestWhoStaysTellsTheSenderInTime(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(t *testing.T, k *keeper){
		"monitor": func(t *testing.T, k *keeper) { k.monitor("--json").line() },
		"watch":   func(t *testing.T, k *keeper) { k.watch(24, 80) },
		"the server of a client without a doorbell": func(t *testing.T, k *keeper) {
			startClient(t, k.bin, k.home, "gem").server(0)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newKeeper(t)
			k.run("register", "amber", "--session-id", "amber")
			k.run("register", "birch", "--session-id", "birch")
			start(t, k)
			k.run("send", "--from", "amber", "birch", "--tell-after", "1s", "x")
			wantTold(t, k.root(), "amber")
		})
	}
}

// wantTold waits until a session was told something.
func wantTold(t *testing.T, root, sid string) {
	t.Helper()
	b, err := broker.Open(broker.Config{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	box, err := b.Mailbox(sid)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Locks.Watchable(box.LockName()); err != nil {
		t.Fatal(err)
	}
	changes := watch.NewChanges()
	defer changes.Close()
	ctx, cancel := context.WithTimeout(t.Context(), robotPatience)
	defer cancel()
	err = changes.Until(ctx, filepath.Join(root, box.LockName()), func() (bool, error) {
		msgs, err := box.Peek(ctx)
		return len(msgs) == 1 && msgs[0].From == mail.SystemAlias, err
	})
	if err != nil {
		t.Errorf("the sender is not told: %v", err)
	}
}

// The terminals of a person have one mailbox.
func TestANewNameIsToldToWhoeverUsesTheOldOne(t *testing.T) {
	t.Parallel()
	k := newKeeper(t)
	if out := k.types("c2c register dana"); strings.Contains(out, "now") {
		t.Errorf("the first name: %s", out)
	}
	if out := k.types("c2c register other"); !strings.Contains(out, "\ndana until now; all your terminals in this project have the new name\n") {
		t.Errorf("another name: %s", out)
	}
	if out := k.types("c2c register other"); strings.Contains(out, "now") {
		t.Errorf("the same name: %s", out)
	}
	k.run("register", "--session-id", "amber", "birch")
	if out := k.run("register", "--session-id", "amber", "amber"); !strings.HasSuffix(out, "\nbirch until now\n") {
		t.Errorf("an agent: %s", out)
	}
	want := "c2c: no such alias \"dana\": it is \"other\" now\nc2c: hint: did you mean \"other\"? c2c list shows all of this project\n"
	if out, err := k.try("send", "dana", "x", "--from", "amber"); err == nil || out != want {
		t.Errorf("%v: %s", err, out)
	}
	k.run("register", "--session-id", "dana", "dana")
	k.run("send", "dana", "x", "--from", "amber")
}
