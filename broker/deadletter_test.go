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

// What is dead is none of a session that is made just now, so it does not even look: a root may have 200,000 dead letters.
func TestANewSessionDoesNotLookAmongTheDead(t *testing.T) {
	w := newWorld(t)
	if err := os.Mkdir(filepath.Join(w.Root(), deadFile), 0o700); err != nil { // which whoever reads it tells
		t.Fatal(err)
	}
	out := w.logged()
	w.attach(Caller{Client: "claude", ClientID: "u1", PID: 10})
	if out.String() != "" {
		t.Errorf("it has looked: %s", out)
	}
	w.register("amber", Caller{Client: "codex", ClientID: "u2", PID: 20})
	if !strings.Contains(out.String(), "dead letters are still to come") {
		t.Errorf("who has chosen an alias has not looked: %s", out)
	}
}

// What stands across two pieces of the file is found, too.
func TestADeadLetterIsFoundWhereverItStands(t *testing.T) {
	w := newWorld(t)
	name := "01a206ea-27ec-7ad8-af45-ca172588faf3"
	own, _ := parseRow([]byte(`{"session_id":"` + name + `","alias":"amber"}`))
	may, longest := w.mayInherit(own, nil)
	for at := 256<<10 - 2*len(name); at < 256<<10+2*len(name); at++ {
		if err := w.Dir().Write(deadFile, []byte(strings.Repeat("x", at)+name+strings.Repeat("x", 9))); err != nil {
			t.Fatal(err)
		}
		if !w.anyDead(may, longest) {
			t.Fatalf("not at %d", at)
		}
	}
	if err := w.Dir().Write(deadFile, []byte(strings.Repeat("x", 1<<20))); err != nil {
		t.Fatal(err)
	}
	if w.anyDead(may, longest) {
		t.Error("found where there is none")
	}
}

// Nobody reads all dead letters to find out which sessions they are for.
func TestTheSessionsThatDeadLettersNameAreFoundInPieces(t *testing.T) {
	w := newWorld(t)
	names := map[string]bool{"a": true, "in-the-middle-of-a-piece": true, "at-the-end": true, "part": true}
	for at := 256<<10 - 40; at < 256<<10+40; at++ {
		text := `"a"` + strings.Repeat("x", at) + `"in-the-middle-of-a-piece"` + strings.Repeat("y", 300<<10) + `,"no-part",part,"at-the-end"`
		if err := w.Dir().Write(deadFile, []byte(text)); err != nil {
			t.Fatal(err)
		}
		named, err := w.namedByDead(names)
		if err != nil || len(named) != 3 || named["part"] {
			t.Fatalf("at %d: %v, %v", at, named, err)
		}
	}
	if err := w.Dir().Write(deadFile, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(w.Root(), deadFile), 4<<30); err != nil { // a hole that takes no space
		t.Fatal(err)
	}
	if named, err := w.namedByDead(nil); len(named) != 0 || err != nil { // no look, no cost
		t.Error(named, err)
	}
}

// Of many dead letters only those are parsed that may be its own, in any spelling.
func TestASessionGetsItsOwnAmongManyDead(t *testing.T) {
	w, amber, birch := pair(t)
	w.send(amber, "birch", "mine")
	w.ends(20)
	w.pass(2 * time.Hour)
	if _, err := w.Sweep(t.Context(), time.Hour); err != nil {
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
	w.procs[20] = process{pid: 20, parent: 1, start: 44}
	back := w.register("birch", Caller{Client: "codex", ClientID: "b", PID: 20})
	if back.ID != birch.ID {
		t.Fatalf("it is %+v", back)
	}
	w.wantMail(back.ID, "mine", "of another")
}
