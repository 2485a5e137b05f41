package broker_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"c2c/broker/moves"
	"c2c/broker/owed"
	"c2c/sessions/callers"
)

// block puts a file where a mailbox needs its lease directory: nothing can be taken out of it, or
// delivered to it.
func (w *world) block(sid string) (unblock func()) {
	w.t.Helper()
	path := filepath.Join(w.Root(), sid+".lease")
	if err := os.RemoveAll(path); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		w.t.Fatal(err)
	}
	return func() {
		if err := os.Remove(path); err != nil {
			w.t.Fatal(err)
		}
	}
}

// The registry has changed hands when the mail cannot follow: the next call of the heir brings it.
func TestAnInterruptedTakeoverIsCompleted(t *testing.T) {
	ctx := context.Background()
	hook := func(w *world) callers.Caller { return callers.Caller{Client: "claude", ClientID: "u", PID: w.pid(30)} }
	for name, retry := range map[string]func(*world) error{
		"by the same command": func(w *world) error { _, err := w.Register(ctx, hook(w), "birch"); return err },
		"by a hook":           func(w *world) error { _, err := w.Attach(ctx, hook(w)); return err },
		"by its name":         func(w *world) error { _, err := w.Attach(ctx, callers.Caller{Explicit: "birch"}); return err },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			amber := w.register("amber", callers.Caller{PID: w.pid(10)})
			w.register("birch", callers.Caller{Explicit: "old", PID: w.pid(20)})
			w.send(amber, "birch", "x")
			w.ends(20)
			heir := w.attach(hook(w))
			unblock := w.block("old")
			w.register("birch", hook(w))
			w.wantMoves(heir.ID, "old")
			unblock()
			if err := retry(w); err != nil {
				t.Fatal(err)
			}
			w.wantMail(heir.ID, "x")
			w.wantMail("old")
			if facts := w.file("sessions/" + heir.ID + ".json"); strings.Contains(facts, "move_from") {
				t.Errorf("still to be moved: %s", facts)
			}
		})
	}
}

// The first holder is back, under another alias, before its mail has followed: it keeps it.
func TestASessionThatIsBackKeepsTheMailThatWasToBeMoved(t *testing.T) {
	w := newWorld(t)
	amber := w.register("amber", callers.Caller{PID: w.pid(10)})
	w.register("birch", callers.Caller{Explicit: "old", PID: w.pid(20)})
	w.send(amber, "birch", "x")
	w.ends(20)
	unblock := w.block("old")
	w.register("birch", callers.Caller{Explicit: "heir", PID: w.pid(30)})
	unblock()
	w.register("coral", callers.Caller{Explicit: "old"})
	w.register("birch", callers.Caller{Explicit: "heir"})
	w.wantMail("heir")
	w.wantMail("old", "x")
}

// Dead letters that could not be redelivered come with the next call.
func TestAnInterruptedReturnBringsTheDeadLettersLater(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	caller := func() callers.Caller { return callers.Caller{Client: "claude", ClientID: "u", PID: w.pid(20)} }
	amber, birch := w.register("amber", callers.Caller{PID: w.pid(10)}), w.register("birch", caller())
	w.send(amber, "birch", "x")
	w.ends(20)
	w.clock = w.clock.Add(2 * time.Hour)
	if swept, err := moves.Sweep(ctx, w.Registry, time.Hour); err != nil || swept.Messages != 1 {
		t.Fatalf("swept %+v, %v", swept, err)
	}
	w.starts(20)
	unblock := w.block(birch.ID)
	w.attach(caller())
	w.wantMoves(birch.ID, birch.ID)
	unblock()
	w.attach(caller())
	w.wantMail(birch.ID, "x")
	if dead, err := owed.DeadLetters(w.Registry); err != nil || len(dead) != 0 {
		t.Errorf("dead letters left: %v, %v", dead, err)
	}
}
