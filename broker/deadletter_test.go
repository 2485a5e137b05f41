package broker_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"c2c/broker"
	"c2c/broker/moves"
	"c2c/broker/owed"
	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/sessions"
	"c2c/sessions/callers"
)

// What is dead is none of a session that is made just now, so it does not even look: a root may
// have 200,000 dead letters.
func TestANewSessionDoesNotLookAmongTheDead(t *testing.T) {
	w := newWorld(t)
	if err := os.Mkdir(filepath.Join(w.Root(), deadFile), 0o700); err != nil { // which whoever reads it tells
		t.Fatal(err)
	}
	out := w.logged()
	w.attach(callers.Caller{Client: "claude", ClientID: "u1", PID: w.pid(10)})
	if out.String() != "" {
		t.Errorf("it has looked: %s", out)
	}
	w.register("amber", callers.Caller{Client: "codex", ClientID: "u2", PID: w.pid(20)})
	if !strings.Contains(out.String(), "dead letters were not moved yet") {
		t.Errorf("who has chosen an alias has not looked: %s", out)
	}
}

// Of many dead letters only those are parsed that may be its own, in any spelling.
func TestASessionGetsItsOwnAmongManyDead(t *testing.T) {
	w, amber, birch := pair(t)
	w.send(amber, "birch", "mine")
	w.ends(20)
	w.pass(2 * time.Hour)
	if _, err := moves.Sweep(t.Context(), w.Registry, time.Hour); err != nil {
		t.Fatal(err)
	}
	var many strings.Builder
	for range 5000 {
		many.WriteString(`{"deleted_at":1795404279.5,"from_session_id":"other","message":{"from_alias":"a","to_alias":"c","content":"x","ts":1795404279.0,"message_id":"m"}}` + "\n")
	}
	spelled := `{"deleted_at":1795404279.5,"from_session_id":"orig","message":{"from_alias":"amber","to_alias":"\u0042irch","content":"of another","ts":1795404279.0,"message_id":"m2"}}` + "\n"
	if err := w.Dir().Write(deadFile, []byte(many.String()+w.file(deadFile)+spelled)); err != nil {
		t.Fatal(err)
	}
	w.starts(20)
	back := w.register("birch", callers.Caller{Client: "codex", ClientID: "b", PID: w.pid(20)})
	if back.ID != birch.ID {
		t.Fatalf("it is %+v", back)
	}
	w.wantMail(back.ID, "mine", "of another")
}

// Nobody has read it, whatever the model of its session has answered.
func TestADeadLetterIsDeadInTheOutbox(t *testing.T) {
	w, amber, birch := pair(t)
	if err := sessions.ExpectAnswers(w.Registry, birch.ID); err != nil {
		t.Fatal(err)
	}
	w.send(amber, "birch", "unread")
	w.ends(20)
	w.pass(2 * time.Hour)
	if _, err := moves.Sweep(t.Context(), w.Registry, time.Hour); err != nil {
		t.Fatal(err)
	}
	sent, err := w.Outbox(t.Context(), amber, 10)
	if err != nil || len(sent) != 1 || sent[0].Status.State != sessions.Dead {
		t.Errorf("it is %+v, %v", sent, err)
	}
}

// A sweep that is stopped once it has found that its mail is among the dead letters already takes
// that mail out of the mailbox later, when the session is back and has looked for its dead letters.
func TestADeadLetterStaysWhileASweepHasItsMessage(t *testing.T) {
	for name, ends := range map[string]func(w *world, sweep *inbox.Lease){
		"the sweep goes on":    func(w *world, sweep *inbox.Lease) { sweep.Remove(t.Context(), inbox.Handles(sweep.Messages)...) },
		"the sweep was killed": func(w *world, sweep *inbox.Lease) { sweep.Release() },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			amber := w.register("amber", callers.Caller{Explicit: "amber", PID: w.pid(10)})
			old := callers.Caller{Explicit: "old"}
			w.register("birch", old)
			w.send(amber, "birch", "acknowledged")
			w.clock = w.clock.Add(2 * time.Hour)
			before := w.waiting("old")
			if swept, err := moves.Sweep(t.Context(), w.Registry, time.Hour); err != nil || swept.Messages != 1 {
				t.Fatal(swept, err)
			}
			if _, err := w.box("old").Move(t.Context(), before...); err != nil { // the first of two that come back is stopped here
				t.Fatal(err)
			}
			sweep, err := w.box("old").LeaseAll(t.Context(), mover, 1<<20)
			if err != nil || len(sweep.Messages) != 1 {
				t.Fatal(sweep, err)
			}
			w.register("birch", old)
			ends(w, sweep)
			w.attach(old)
			w.wantMail("old", "acknowledged")
			w.wantDead()
			w.wantMoves("old")
		})
	}
}

func TestABrokenDeadLetterFileCostsOnlyItself(t *testing.T) {
	for kind, plant := range map[string]func(string) error{
		"FIFO":      func(p string) error { return syscall.Mkfifo(p, 0o600) },
		"symlink":   func(p string) error { return os.Symlink(t.TempDir(), p) },
		"directory": func(p string) error { return os.Mkdir(p, 0o700) },
		"hole":      func(p string) error { return errors.Join(os.WriteFile(p, nil, 0o600), os.Truncate(p, 1<<40)) },
	} {
		t.Run(kind, func(t *testing.T) {
			w := newWorld(t)
			amber := w.register("amber", callers.Caller{Explicit: "amber", PID: w.pid(10)})
			w.register("birch", callers.Caller{Explicit: "birch", PID: w.pid(20)})
			w.register("gone", callers.Caller{Explicit: "gone", PID: w.pid(40)})
			w.clock = w.clock.Add(2 * time.Hour)
			if swept, err := moves.Sweep(t.Context(), w.Registry, time.Hour); err != nil || len(swept.Sessions) != 1 {
				t.Fatal(swept, err)
			}
			if err := plant(filepath.Join(w.Root(), callers.DeadLetterFile)); err != nil {
				t.Fatal(err)
			}
			if _, err := w.Send(t.Context(), amber, mail.Message{To: "birch", Content: "x", ID: "m-1"}); err != nil {
				t.Fatal(err)
			}
			if st, err := w.Status(t.Context(), "m-1"); err != nil || st.State != sessions.Queued {
				t.Errorf("status %+v, %v", st, err)
			}
			if _, err := w.Status(t.Context(), "m-2"); err == nil || errors.Is(err, broker.ErrNoMessage) || !strings.Contains(err.Error(), callers.DeadLetterFile) {
				t.Errorf("status of a message that may be there: %v", err)
			}
			w.clock = w.clock.Add(2 * time.Hour)
			if p, err := moves.Prune(t.Context(), w.Registry, time.Hour, "", false); p.Sessions != 1 || err == nil || !strings.Contains(err.Error(), callers.DeadLetterFile) {
				t.Errorf("pruned %+v, %v", p, err)
			}
			s := w.attach(callers.Caller{Client: "claude", ClientID: "u1", PID: w.pid(30)})
			if moves, err := w.moves(s.ID); err != nil || moves != nil {
				t.Errorf("each of its calls would look for dead letters: %q, %v", moves, err)
			}
		})
	}
}

// A session that was swept may come back for its mail. As in the OCaml c2c, an alias that was
// chosen gets the letters of a session that cannot; one that was made up gets none.
func TestAFreeNameGetsNoMailOfWhoHadIt(t *testing.T) {
	w := newWorld(t)
	amber := w.register("amber", callers.Caller{Explicit: "amber", PID: w.pid(10)})
	old := callers.Caller{Explicit: "old"}
	w.register("birch", old)
	w.send(amber, "birch", "to old")
	w.clock = w.clock.Add(2 * time.Hour)
	if swept, err := moves.Sweep(t.Context(), w.Registry, time.Hour); err != nil || swept.Messages != 1 {
		t.Fatal(swept, err)
	}
	err := owed.AddDead(t.Context(), w.Registry, "original", owed.DeadLetter{Message: mail.Message{From: "amber", To: "birch", Content: "to nobody", ID: "m-2"}})
	if err != nil {
		t.Fatal(err)
	}
	made := w.attach(callers.Caller{Client: "claude", ClientID: "u1", PID: w.pid(20)})
	if done, err := moves.Redeliver(t.Context(), w.Registry, sessions.Row(`{"session_id":"`+made.ID+`","alias":"birch"}`), nil); err != nil || !done {
		t.Fatal(done, err)
	}
	w.wantMail(made.ID)
	chosen := w.register("birch", callers.Caller{Explicit: "new", PID: w.pid(30)})
	w.wantMail(chosen.ID, "to nobody")
	w.register("coral", old)
	w.wantMail("old", "to old")
	w.wantDead()
}

// The sweep may be over by the time when the dead letter would be dropped.
func TestADeadLetterStaysUnlessItsSessionHasTheMessage(t *testing.T) {
	w := newWorld(t)
	amber := w.register("amber", callers.Caller{Explicit: "amber", PID: w.pid(10)})
	w.register("birch", callers.Caller{Explicit: "birch"})
	w.send(amber, "birch", "waits")
	w.send(amber, "birch", "is read")
	messages := w.waiting("birch")
	if err := w.box("birch").Withdraw(t.Context(), messages[0]); err != nil {
		t.Fatal(err)
	}
	w.read("birch")
	if _, err := w.box("birch").Move(t.Context(), messages[0]); err != nil {
		t.Fatal(err)
	}
	swept := messages[0]
	swept.ID = mail.NewID(w.clock)
	mine := map[string][]string{}
	for _, m := range append(messages, swept) {
		mine[owed.MessageKey(m)] = []string{m.ID}
	}
	gone, all, err := moves.Delivered(t.Context(), w.box("birch"), mine, append(messages, swept))
	if _, lost := gone[swept.ID]; err != nil || all || lost || len(gone) != 2 {
		t.Errorf("%v, %v, %v", gone, all, err)
	}
}
