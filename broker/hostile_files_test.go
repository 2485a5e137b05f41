package broker_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"c2c/broker"
	"c2c/broker/owed"
	"c2c/inbox/mail"
	"c2c/sessions"
	"c2c/sessions/callers"
)

// hostileFiles are the small files of a root that other programs may write, too.
var hostileFiles = []string{"sessions/amber.json", deadFile, logFile, dueMark, "amber" + workEnd, "amber" + sessions.AnswersEnd, owedDir + "/amber" + owedEnd, owedDir + "/" + closedFile,
	askingDir + "/m-1", "archive/amber.jsonl", "amber.inbox.json", "amber.lease/00000001-1-9.json", "amber.lease/00000002-1-9-0-1-hook.json",
	"archive/amber.old/0000000000000000.jsonl", "archive/amber.old/0000000000000000.ids"}

// Whatever stands in one of them, the readers of a root have an answer, and another session has its
// mail.
func FuzzFilesOfARoot(f *testing.F) {
	line := `{"from_alias":"birch","to_alias":"amber","content":"x","ts":1.5,"message_id":"m-1","kind":"question","due":2.5,"deleted_at":3.5,"from_session_id":"amber","drained_at":4.5,"reason":"swept","alias":"amber","last_ring":{"at":"2026-11-22T10:00:00Z"},"event":"dm_enqueue"}`
	for i := range hostileFiles {
		for _, s := range []string{line + "\n", line[:80], "[\n {\n  \"alias\": 1", "\x00"} {
			f.Add(uint8(i), []byte(s))
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, data []byte) {
		w := newWorld(t)
		amber, birch := w.register("amber", callers.Caller{Explicit: "amber"}), w.register("birch", callers.Caller{Explicit: "birch"})
		path := filepath.Join(w.Root(), hostileFiles[int(which)%len(hostileFiles)])
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, data, 0o600)); err != nil {
			t.Fatal(err)
		}
		ctx := t.Context()
		list, err := w.List(ctx)
		if err != nil || !slices.ContainsFunc(list, func(l sessions.Listed) bool { return l.ID == birch.ID && l.Error == "" }) {
			t.Fatalf("%s: %+v, %v", path, list, err)
		}
		w.Status(ctx, "m-1")
		owed.DeadLetters(w.Registry)
		w.Events.Tail(9)
		w.Search(ctx, amber, []string{"x"}, 9)
		w.HistoryBefore(ctx, "", broker.Latest, 9)
		broker.Obligations(ctx, w.Registry, amber, true)
		owed.NewChecker(w.Registry).Look(ctx)
		if box, err := w.Mailbox(amber.ID); err == nil {
			box.Archive().History(ctx, 9)
			box.Archive().Next(0)
			box.Observe(true).Look()
		}
		w.Send(ctx, birch, mail.Message{To: "amber", Content: "to amber"})
		if _, err := w.Send(ctx, amber, mail.Message{To: "birch", Content: "to birch"}); err != nil {
			t.Fatalf("%s with %q: %v", path, data, err)
		}
		if box, err := w.Mailbox(birch.ID); err != nil {
			t.Fatal(err)
		} else if msgs, err := box.Peek(ctx); err != nil || !slices.ContainsFunc(msgs, func(m mail.Message) bool { return m.Content == "to birch" }) {
			t.Errorf("%s with %q: birch has %v, %v", path, data, msgs, err)
		}
		w.clock = w.clock.Add(time.Hour)
		owed.NewChecker(w.Registry).Look(ctx)
		if _, err := os.Stat(filepath.Join(w.Root(), registryFile)); errors.Is(err, fs.ErrNotExist) {
			t.Error("the registry is gone")
		}
	})
}
