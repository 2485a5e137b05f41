package broker_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"c2c/broker"
	"c2c/broker/moves"
	"c2c/broker/owed"
	"c2c/sessions"
	"c2c/sessions/callers"
)

// A reader that released its lease, or died, leaves the messages in the lease directory, and no
// inbox.
func TestMailThatAReaderGaveBackIsFoundAndSwept(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	amber, birch := w.register("amber", callers.Caller{PID: w.pid(10)}), w.register("birch", callers.Caller{PID: w.pid(20)})
	r := w.send(amber, "birch", "x")
	w.lease(birch.ID)()
	w.ends(20)
	w.clock = w.clock.Add(2 * time.Hour)
	swept, err := moves.Sweep(ctx, w.Registry, time.Hour)
	if err != nil || len(swept.Sessions) != 1 || swept.Messages != 1 {
		t.Errorf("swept %+v, %v", swept, err)
	}
	if st, err := w.Status(ctx, r.ID); err != nil || st.State != sessions.Dead {
		t.Errorf("status %+v, %v", st, err)
	}
	heir := w.register("birch", callers.Caller{PID: w.pid(30)})
	w.wantMail(heir.ID, "x")
}

func TestWhatWasReadIsKnownAfterASweep(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	amber, birch := w.register("amber", callers.Caller{PID: w.pid(10)}), w.register("birch", callers.Caller{PID: w.pid(20)})
	r := w.send(amber, "birch", "x")
	w.read(birch.ID)
	w.ends(20)
	w.clock = w.clock.Add(2 * time.Hour)
	if _, err := moves.Sweep(ctx, w.Registry, time.Hour); err != nil {
		t.Fatal(err)
	}
	if st, err := w.Status(ctx, r.ID); err != nil || st.State != sessions.Read || st.By != "hook" {
		t.Errorf("status %+v, %v", st, err)
	}
}

// A message that came a moment ago is a sign that somebody counts on the session.
func TestANewMessageIsNotSwept(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	amber, birch := w.register("amber", callers.Caller{PID: w.pid(10)}), w.register("birch", callers.Caller{PID: w.pid(20)})
	w.ends(20)
	for i := range 9 { // the last ones are in the inbox, the others in the lease directory
		w.send(amber, "birch", strings.Repeat(fmt.Sprint(i), 10_000))
	}
	old := time.Now().Add(-9 * time.Hour)
	for _, name := range []string{birch.ID + ".lease", "sessions/" + birch.ID + ".json"} {
		if err := os.Chtimes(filepath.Join(w.Root(), name), old, old); err != nil {
			t.Fatal(err)
		}
	}
	w.writeRegistry(strings.ReplaceAll(w.file(registryFile), `"registered_at":17`, `"registered_at":1`))
	swept, err := moves.Sweep(ctx, w.Registry, time.Hour)
	if err != nil || len(swept.Sessions) != 0 || swept.Messages != 0 {
		t.Errorf("swept %+v, %v", swept, err)
	}
}

// A power cut, or the OCaml c2c, may leave the last line without its end.
func TestADeadLetterBehindATornLineIsKept(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	amber, birch := w.register("amber", callers.Caller{PID: w.pid(10)}), w.register("birch", callers.Caller{PID: w.pid(20)})
	w.send(amber, "birch", "x")
	const torn = `{"deleted_at":1.5,"from_session_id":"s","mess`
	if err := w.Dir().Write(deadFile, []byte(torn)); err != nil {
		t.Fatal(err)
	}
	w.ends(20)
	w.clock = w.clock.Add(2 * time.Hour)
	if swept, err := moves.Sweep(ctx, w.Registry, time.Hour); err != nil || swept.Messages != 1 {
		t.Fatalf("swept %+v, %v", swept, err)
	}
	if dead, err := owed.DeadLetters(w.Registry); err != nil || len(dead) != 1 || dead[0].Message.Content != "x" {
		t.Errorf("dead letters %+v, %v", dead, err)
	}
	w.starts(20)
	back := w.register("birch", callers.Caller{Explicit: birch.ID, PID: w.pid(20)})
	w.wantMail(back.ID, "x")
	if got := w.file(deadFile); got != torn+"\n" {
		t.Errorf("left in the file: %q", got)
	}
}

// What stands in the place of one mailbox costs that one only.
func TestABrokenMailboxCostsOnlyItself(t *testing.T) {
	elsewhere := t.TempDir()
	for kind, plant := range map[string]func(string) error{
		"FIFO":      func(p string) error { return syscall.Mkfifo(p, 0o600) },
		"symlink":   func(p string) error { return os.Symlink(elsewhere, p) },
		"directory": func(p string) error { return os.Mkdir(p, 0o700) },
	} {
		t.Run(kind, func(t *testing.T) {
			w := newWorld(t)
			ctx := context.Background()
			amber := w.register("amber", callers.Caller{Explicit: "amber", PID: w.pid(10)})
			w.register("birch", callers.Caller{Explicit: "birch", PID: w.pid(20)})
			w.register("cedar", callers.Caller{Explicit: "cedar", PID: w.pid(30)})
			w.send(amber, "birch", "x")
			r := w.send(amber, "cedar", "y")
			path := filepath.Join(w.Root(), "birch.inbox.json")
			if err := errors.Join(os.Remove(path), plant(path)); err != nil {
				t.Fatal(err)
			}
			list, err := w.List(ctx)
			if err != nil || len(list) != 3 {
				t.Fatal(list, err)
			}
			for _, l := range list {
				if (l.Alias == "birch") != (l.Error != "") || (l.Alias == "cedar") != l.Waiting {
					t.Errorf("listed %+v", l)
				}
			}
			if st, err := w.Status(ctx, r.ID); err != nil || st.State != sessions.Queued {
				t.Errorf("status %+v, %v", st, err)
			}
			if _, err := w.Status(ctx, "other"); err == nil || errors.Is(err, broker.ErrNoMessage) || !strings.Contains(err.Error(), "birch.inbox.json") {
				t.Errorf("status of a message that may be there: %v", err)
			}
			w.ends(20)
			w.ends(30)
			w.clock = w.clock.Add(2 * time.Hour)
			swept, err := moves.Sweep(ctx, w.Registry, time.Hour)
			if err != nil || len(swept.Sessions) != 2 || swept.Messages != 1 || len(swept.Mailboxes) != 2 {
				t.Fatalf("swept %+v, %v", swept, err)
			}
			for _, m := range swept.Mailboxes {
				if m.SessionID == "birch" && m.Error == "" || m.SessionID == "cedar" && (m.Messages != 1 || m.Error != "") {
					t.Errorf("swept %+v", m)
				}
			}
			if err := swept.Err(); err == nil || !strings.Contains(err.Error(), "birch") {
				t.Errorf("the sweep tells %v", err)
			}
		})
	}
}

// The hook of a session that was swept a moment ago registers it again before the sweep has got to
// its mailbox.
func TestASessionThatComesBackDuringASweepKeepsItsMail(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	amber := w.register("amber", callers.Caller{PID: w.pid(10)})
	w.opens(20, "t1")
	caller := func() callers.Caller { return callers.Caller{Client: "codex", ClientID: "t1", PID: w.pid(20)} }
	birch := w.register("birch", caller())
	w.send(amber, "birch", "x")
	w.ends(20)
	w.clock = w.clock.Add(2 * time.Hour)
	back := false
	w.cfg.Now = func() time.Time {
		if !back && !strings.Contains(w.file(sessions.RegistryFileName), birch.ID) {
			back = true
			w.starts(20)
			w.attach(caller())
		}
		return w.clock
	}
	w.reopen()
	swept, err := moves.Sweep(ctx, w.Registry, time.Hour)
	if err != nil || !back || len(swept.Sessions) != 1 || swept.Messages != 0 {
		t.Errorf("swept %+v, back %v, %v", swept, back, err)
	}
	w.wantMail(birch.ID, "x")
}
