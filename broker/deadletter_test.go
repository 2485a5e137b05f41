package broker

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"c2c/inbox"
)

func TestABrokenDeadLetterFileCostsOnlyItself(t *testing.T) {
	for kind, plant := range map[string]func(string) error{
		"FIFO":      func(p string) error { return syscall.Mkfifo(p, 0o600) },
		"symlink":   func(p string) error { return os.Symlink(t.TempDir(), p) },
		"directory": func(p string) error { return os.Mkdir(p, 0o700) },
	} {
		t.Run(kind, func(t *testing.T) {
			w := newWorld(t)
			amber := w.register("amber", Caller{Explicit: "amber", PID: 10})
			w.register("birch", Caller{Explicit: "birch", PID: 20})
			w.register("gone", Caller{Explicit: "gone", PID: 40})
			w.clock = w.clock.Add(2 * time.Hour)
			if swept, err := w.Sweep(t.Context(), time.Hour); err != nil || len(swept.Sessions) != 1 {
				t.Fatal(swept, err)
			}
			if err := plant(filepath.Join(w.Root(), deadFile)); err != nil {
				t.Fatal(err)
			}
			if _, err := w.Send(t.Context(), amber, inbox.Message{To: "birch", Content: "x", ID: "m-1"}); err != nil {
				t.Fatal(err)
			}
			if st, err := w.Status(t.Context(), "m-1"); err != nil || st.State != Queued {
				t.Errorf("status %+v, %v", st, err)
			}
			if _, err := w.Status(t.Context(), "m-2"); err == nil || errors.Is(err, ErrNoMessage) || !strings.Contains(err.Error(), deadFile) {
				t.Errorf("status of a message that may be there: %v", err)
			}
			w.clock = w.clock.Add(2 * time.Hour)
			if p, err := w.Prune(t.Context(), time.Hour, "", false); p.Sessions != 1 || err == nil || !strings.Contains(err.Error(), deadFile) {
				t.Errorf("pruned %+v, %v", p, err)
			}
			if s := w.attach(Caller{Client: "claude", ClientID: "u1", PID: 30}); w.factsOf(s.ID).MoveFrom != nil {
				t.Error("each of its calls would look for dead letters")
			}
		})
	}
}

// A session that was swept may come back for its mail. As in the original, an alias that was chosen gets the
// letters of a session that cannot; one that was made up gets none.
func TestAFreeNameGetsNoMailOfWhoHadIt(t *testing.T) {
	w := newWorld(t)
	amber := w.register("amber", Caller{Explicit: "amber", PID: 10})
	old := Caller{Explicit: "old"}
	w.register("birch", old)
	w.send(amber, "birch", "to old")
	w.clock = w.clock.Add(2 * time.Hour)
	if swept, err := w.Sweep(t.Context(), time.Hour); err != nil || swept.Messages != 1 {
		t.Fatal(swept, err)
	}
	err := w.addDead(t.Context(), "original", DeadLetter{Message: inbox.Message{From: "amber", To: "birch", Content: "to nobody", ID: "m-2"}})
	if err != nil {
		t.Fatal(err)
	}
	made := w.attach(Caller{Client: "claude", ClientID: "u1", PID: 20})
	if done, err := w.redeliver(t.Context(), row(`{"session_id":"`+made.ID+`","alias":"birch"}`), nil); err != nil || !done {
		t.Fatal(done, err)
	}
	w.wantMail(made.ID)
	chosen := w.register("birch", Caller{Explicit: "new", PID: 30})
	w.wantMail(chosen.ID, "to nobody")
	w.register("coral", old)
	w.wantMail("old", "to old")
	w.wantDead()
}
