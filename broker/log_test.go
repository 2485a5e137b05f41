package broker_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"c2c/internal/atomicfile"
	"c2c/sessions/callers"
)

func TestAFullLogIsRotated(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	size := func(name string) int64 {
		info, err := os.Stat(filepath.Join(w.Root(), name))
		if errors.Is(err, fs.ErrNotExist) {
			return -1
		}
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	for n := range logKeep + 2 {
		if err := w.Events.Write(ctx, fmt.Sprint("event-", n)); err != nil {
			t.Fatal(err)
		}
		if got := size(logFile); got > logMax/2 {
			t.Fatalf("round %d: the log has %d bytes", n, got)
		}
		full := append([]byte(w.file(logFile)), bytes.Repeat([]byte("{}\n"), logMax/3+1)...)
		if err := w.Dir().Write(logFile, full); err != nil {
			t.Fatal(err)
		}
	}
	for n := 1; n <= logKeep; n++ {
		name := fmt.Sprintf("%s.%d", logFile, n)
		if want := fmt.Sprintf(`"event-%d"`, logKeep+1-n); size(name) < logMax || !strings.Contains(w.file(name)[:200], want) {
			t.Errorf("%s has %d bytes, want %s in it", name, size(name), want)
		}
	}
	if n := size(fmt.Sprintf("%s.%d", logFile, logKeep+1)); n >= 0 {
		t.Errorf("a file too many is kept, of %d bytes", n)
	}
}

// Whoever meets a damaged inbox may not say so: the log tells it.
func TestADamagedInboxIsInTheLog(t *testing.T) {
	w := newWorld(t)
	amber, birch := w.register("amber", callers.Caller{PID: w.pid(10)}), w.register("birch", callers.Caller{PID: w.pid(20)})
	if err := w.Dir().Write(birch.ID+".inbox.json", []byte(`[{"from_alias":"amb`)); err != nil {
		t.Fatal(err)
	}
	w.send(amber, "birch", "x")
	w.wantMail(birch.ID, "x")
	if log := w.file(logFile); !strings.Contains(log, `"event":"mailbox"`) || !strings.Contains(log, birch.ID+".inbox.json.corrupt-") {
		t.Errorf("log: %s", log)
	}
}

// A suspended process may hold the lock of a full log for days. Whoever writes a warning there has
// no context of its own. The log then grows.
func TestALockedLogHoldsUpNobody(t *testing.T) {
	w := newWorld(t)
	amber, birch := w.register("amber", callers.Caller{PID: w.pid(10)}), w.register("birch", callers.Caller{PID: w.pid(20)})
	full := bytes.Repeat([]byte("{}\n"), logMax/3+1)
	if err := errors.Join(w.Dir().Write(logFile, full), w.Dir().Write(birch.ID+".inbox.json", []byte("["))); err != nil {
		t.Fatal(err)
	}
	held, err := atomicfile.Acquire(t.Context(), w.Dir(), logFile+".lock")
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithTimeout(t.Context(), time.Minute)
	defer end()
	context.AfterFunc(ctx, func() { held.Release() })
	w.send(amber, "birch", "x")
	w.wantMail(birch.ID, "x")
	if ctx.Err() != nil {
		t.Error("it waits until the lock is free")
	}
	if log, err := w.Dir().Read(logFile); err != nil || !bytes.Contains(log[len(full):], []byte(`"event":"dm_enqueue"`)) {
		t.Errorf("the log does not have the event: %v, %q", err, log[min(len(log), len(full)):])
	}
}
