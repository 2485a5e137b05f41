package broker_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"c2c/broker/moves"
	"c2c/broker/owed"
	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
	"c2c/sessions"
	"c2c/sessions/callers"
)

// unused is a session that was asked and has ended, and was not used for some days.
func unused(t *testing.T, days int) (w *world, birch sessions.Session) {
	w, amber, birch := pair(t)
	w.put(amber, "birch", mail.Message{Kind: "question", Content: "what it read"})
	w.read(birch.ID)
	w.pass(time.Second) // only an answer after the hand-over is an answer to the mail
	if err := errors.Join(sessions.SawWork(w.Registry, birch.ID, true), sessions.ExpectAnswers(w.Registry, birch.ID), sessions.SawAnswer(w.Registry, birch.ID, time.Time{})); err != nil {
		t.Fatal(err)
	}
	w.ends(20)
	w.pass(time.Duration(days) * 24 * time.Hour)
	return w, birch
}

func (w *world) tidied() {
	w.t.Helper()
	defer w.keeping()()
	if err := w.Dir().WriteNote(moves.TidiedName, atomicfile.TimeText(w.clock.Add(-2*moves.TidyEvery))); err != nil {
		w.t.Fatal(err)
	}
	moves.TidyDaily(w.t.Context(), w.Registry)
}

// keeping takes the right to act on what messages are owed, as a server does.
func (w *world) keeping() (release func()) {
	w.t.Helper()
	lock, err := owed.OpenLock(w.Registry)
	if err != nil {
		w.t.Fatal(err)
	}
	defer unforked()()
	if ok, err := lock.Try(); err != nil || !ok {
		w.t.Fatal(ok, err)
	}
	return func() {
		if err := lock.Release(); err != nil {
			w.t.Error(err)
		}
	}
}

// filesOf gives the files of a session, with ID for its id.
func (w *world) filesOf(sid string) string {
	w.t.Helper()
	var names []string
	for _, pattern := range []string{"*", "*/*", "*/*/*"} {
		paths, err := filepath.Glob(filepath.Join(w.Root(), pattern))
		if err != nil {
			w.t.Fatal(err)
		}
		for _, path := range paths {
			name, _ := filepath.Rel(w.Root(), path)
			if data, err := os.ReadFile(path); strings.Contains(name, sid) || strings.HasPrefix(name, "sessions/ids/") && err == nil && string(data) == sid+"\n" {
				names = append(names, strings.ReplaceAll(name, sid, "ID"))
			}
		}
	}
	return strings.Join(names, " ")
}

func TestASessionThatHasEndedLongAgoLeavesItsArchive(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		days       int
		registered bool
		files      string
	}{
		{29, true, "ID.inbox.lock ID.lease archive/ID.jsonl archive/ID.lock owed/ID.jsonl owed/ID.lock sessions/ID.json sessions/ids/codex.b"},
		{31, false, "archive/ID.jsonl sessions/ID.json sessions/ids/codex.b"},
		{91, false, "archive/ID.jsonl"},
	} {
		w, birch := unused(t, c.days)
		w.tidied()
		if got := strings.Contains(w.file(sessions.RegistryFileName), birch.ID); got != c.registered {
			t.Errorf("after %d days: registered %v", c.days, got)
		}
		if got := w.filesOf(birch.ID); got != c.files {
			t.Errorf("after %d days there is %s\nwant %s", c.days, got, c.files)
		}
		if h, err := w.box(birch.ID).Archive().History(t.Context(), 5); err != nil || len(h) != 1 || h[0].Content != "what it read" {
			t.Errorf("history %v, %v", h, err)
		}
		if c.days > 90 {
			continue
		}
		w.starts(20)
		if back := w.attach(callers.Caller{Client: "codex", ClientID: "b", PID: w.pid(20)}); back.ID != birch.ID || back.Alias != "birch" {
			t.Errorf("after %d days it is back as %+v", c.days, back)
		}
		w.send(sessions.Session{ID: "x", Alias: "amber"}, "birch", "anew")
		w.wantMail(birch.ID, "anew")
	}
}

// Mail of a peer keeps its session, whatever c2c has told it beside.
func TestASessionWithMailStaysForYears(t *testing.T) {
	t.Parallel()
	w, amber, birch := pair(t)
	w.send(amber, "birch", "of a peer")
	w.notice(birch, "something")
	w.ends(20)
	w.pass(3 * 365 * 24 * time.Hour)
	w.tidied()
	w.wantMail(birch.ID, "of a peer", "something")
	if got := w.file(sessions.RegistryFileName); !strings.Contains(got, birch.ID) {
		t.Error("its row is gone")
	}
}

// The row was forgotten because there are many; what c2c has told the session stays for its return.
func TestANoticeStaysForAMonth(t *testing.T) {
	t.Parallel()
	for days, want := range map[int]string{2: "something", 31: ""} {
		w, birch := unused(t, 0)
		w.notice(birch, "something")
		w.pass(time.Duration(days) * 24 * time.Hour)
		w.crowd()
		w.tidied()
		if want == "" {
			w.wantMail(birch.ID)
		} else {
			w.wantMail(birch.ID, want)
		}
	}
}

// Somebody has a lock of the session, for whatever reason: then its files stay.
func TestASessionOfWhichSomebodyHasALockStays(t *testing.T) {
	t.Parallel()
	for _, lock := range []string{".wake.lock", ".server.lock", ".inbox.lock"} {
		w, birch := unused(t, 31)
		release := w.hold(birch.ID + lock)
		w.tidied()
		if got := w.filesOf(birch.ID); !strings.Contains(got, "ID"+lock) || !strings.Contains(got, "ID.inbox.lock") {
			t.Errorf("%s: left is %s", lock, got)
		}
		if err := release(); err != nil {
			t.Fatal(err)
		}
		w.tidied()
		if got := w.filesOf(birch.ID); strings.Contains(got, ".lock") {
			t.Errorf("%s is free: left is %s", lock, got)
		}
	}
}

// Dead letters are for the session that was to read them, so what tells who it is stays.
func TestASessionWithDeadLettersKeepsItsFacts(t *testing.T) {
	t.Parallel()
	w, amber, _ := pair(t)
	w.send(amber, "birch", "x")
	w.ends(20)
	w.pass(2 * time.Hour)
	if _, err := moves.Sweep(t.Context(), w.Registry, time.Hour); err != nil {
		t.Fatal(err)
	}
	w.pass(200 * 24 * time.Hour)
	w.tidied()
	w.starts(20)
	back := w.attach(callers.Caller{Client: "codex", ClientID: "b", PID: w.pid(20)})
	w.wantMail(back.ID, "x")
}

// Several processes may look after a root, one after the other: it is tidied once a day.
func TestARootIsTidiedOnceADay(t *testing.T) {
	t.Parallel()
	w, birch := unused(t, 31)
	defer w.keeping()()
	if err := w.Dir().WriteNote(moves.TidiedName, atomicfile.TimeText(w.clock.Add(-time.Hour))); err != nil {
		t.Fatal(err)
	}
	if again := moves.TidyDaily(t.Context(), w.Registry); !again.Equal(w.clock.Add(moves.TidyEvery - time.Hour)) {
		t.Errorf("it is tidied again at %v", again)
	}
	if got := w.filesOf(birch.ID); !strings.Contains(got, "ID.inbox.lock") {
		t.Errorf("it was tidied an hour ago, and again now: %s", got)
	}
	w.pass(moves.TidyEvery)
	moves.TidyDaily(t.Context(), w.Registry)
	if got := w.filesOf(birch.ID); strings.Contains(got, "ID.inbox.lock") {
		t.Errorf("a day later it was not tidied: %s", got)
	}
	if at, err := w.Dir().ReadTime(moves.TidiedName); err != nil || !at.Equal(w.clock) {
		t.Errorf("the next one does not know: %v, %v", at, err)
	}
}
