package broker_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"c2c/broker/moves"
	"c2c/inbox/mail"
	"c2c/sessions"
	"c2c/sessions/callers"
)

func (w *world) files(part string) (files []string) {
	w.t.Helper()
	err := filepath.WalkDir(w.Root(), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.Contains(path, part) {
			files = append(files, strings.TrimPrefix(path, w.Root()))
		}
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return files
}

func TestPruneTakesOnlyWhatIsGone(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	amber := w.register("amber", callers.Caller{PID: w.pid(10), Explicit: "sid-amber"})
	birch := w.register("birch", callers.Caller{PID: w.pid(20), Client: "claude", ClientID: "claude-1", Explicit: "sid-birch"})
	coral := w.register("coral", callers.Caller{PID: w.pid(30), Explicit: "sid-coral"})
	for _, to := range []string{"birch", "coral"} {
		w.send(amber, to, "read")
	}
	w.send(birch, "amber", "read")
	for _, s := range []sessions.Session{amber, birch, coral} {
		w.read(s.ID)
	}
	if err := sessions.ExpectAnswers(w.Registry, birch.ID); err != nil {
		t.Fatal(err)
	}
	w.ends(20)
	w.ends(30)
	w.clock = w.clock.Add(100 * 24 * time.Hour)
	if _, err := moves.Sweep(ctx, w.Registry, time.Hour); err != nil {
		t.Fatal(err)
	}
	// What came for a session after the sweep is mail, and keeps it.
	box, err := w.Mailbox(coral.ID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := box.Deliver(ctx, mail.Message{From: "amber", To: "coral", Content: "late"}); err != nil {
		t.Fatal(err)
	}
	for _, killed := range []string{"sid-birch.inbox.json.tmp.c2c", "sessions/sid-birch.json.tmp.c2c"} {
		if err := os.WriteFile(filepath.Join(w.Root(), killed), []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{sessions.RoomPlaces("sid-birch"), sessions.RoomPlacesLock("sid-birch"), sessions.RoomOpen("sid-birch")} {
		if err := os.WriteFile(filepath.Join(w.Root(), name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before := w.files("")
	dry, err := moves.Prune(ctx, w.Registry, 90*24*time.Hour, "", true)
	if err != nil || len(w.files("")) != len(before) {
		t.Errorf("a dry run left %d of %d files, %v", len(w.files("")), len(before), err)
	}
	p, err := moves.Prune(ctx, w.Registry, 90*24*time.Hour, "", false)
	if err != nil || p != dry || p.Sessions != 1 || p.Archives.Count != 2 {
		t.Errorf("pruned %+v after %+v, %v", p, dry, err)
	}
	if left := append(w.files("birch"), w.files("claude-1")...); len(left) != 0 {
		t.Errorf("left of birch: %q", left)
	}
	for _, sid := range []string{amber.ID, coral.ID} {
		if len(w.files(sid+".inbox.lock")) != 1 || len(w.files("sessions/"+sid+".json")) != 1 {
			t.Errorf("left of %s: %q", sid, w.files(sid))
		}
	}
	w.wantMail(coral.ID, "late")
}

func TestADryRunOfPruneMakesNothing(t *testing.T) {
	w := newWorld(t)
	amber, _ := w.register("amber", callers.Caller{PID: w.pid(10)}), w.register("birch", callers.Caller{PID: w.pid(20), Explicit: "sid-birch"})
	w.send(amber, "birch", "x")
	w.read("sid-birch")
	w.clock = w.clock.Add(100 * 24 * time.Hour)
	w.writeRegistry("[]")
	for _, name := range []string{"sessions/ids", "sessions"} {
		if err := os.RemoveAll(filepath.Join(w.Root(), name)); err != nil {
			t.Fatal(err)
		}
		p, err := moves.Prune(context.Background(), w.Registry, 90*24*time.Hour, "", true)
		if err != nil || p.Sessions == 0 {
			t.Errorf("without %s: pruned %+v, %v", name, p, err)
		}
		if _, err := os.Stat(filepath.Join(w.Root(), name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s was made: %v", name, err)
		}
	}
}

// The age of such a dead letter is not known.
func TestPruneKeepsADeadLetterWithoutATime(t *testing.T) {
	w := newWorld(t)
	kept := ""
	for _, at := range []string{`"deleted_at":0,`, `"deleted_at":null,`, `"deleted_at":-5.5,`, `"deleted_at":7,`, `"deleted_at":1e300,`, `"deleted_at":-1e300,`, ``} {
		kept += `{` + at + `"from_session_id":"s","message":{"from_alias":"a","to_alias":"b","content":"x","ts":1.5,"message_id":"m"}}` + "\n"
	}
	old := strings.Replace(kept[:strings.Index(kept, "\n")+1], `"deleted_at":0`, `"deleted_at":1700000000.5`, 1)
	if err := w.Dir().Write(deadFile, []byte(kept+old)); err != nil {
		t.Fatal(err)
	}
	p, err := moves.Prune(context.Background(), w.Registry, time.Hour, "", false)
	if err != nil || p.DeadLetters.Count != 1 || w.file(deadFile) != kept {
		t.Errorf("pruned %+v, %v, left %s", p, err, w.file(deadFile))
	}
}

func TestPruneLeavesASessionWhoseLockIsHeld(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	birch := w.register("birch", callers.Caller{PID: w.pid(20), Explicit: "sid-birch"})
	release, ok, err := w.Locks.BorrowRinging(birch.ID)
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	if err := os.Remove(filepath.Join(w.Root(), "registry.json")); err != nil {
		t.Fatal(err)
	}
	w.clock = w.clock.Add(100 * 24 * time.Hour)
	if p, err := moves.Prune(ctx, w.Registry, 90*24*time.Hour, "", false); err != nil || p.Sessions != 0 || len(w.files("sid-birch.json")) != 1 {
		t.Errorf("pruned %+v, %v", p, err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	if p, err := moves.Prune(ctx, w.Registry, 90*24*time.Hour, "", false); err != nil || p.Sessions != 1 || len(w.files("sid-birch")) != 0 {
		t.Errorf("pruned %+v, %v, left %q", p, err, w.files("sid-birch"))
	}
}
