package broker_test

import (
	"testing"
	"time"

	"c2c/inbox/mail"
	"c2c/sessions"
)

// Whoever removes the lock file of a mailbox removes what says when mail came. The mail itself is in the archive.
func TestALoopIsStoppedWhereALockFileIsMissing(t *testing.T) {
	t.Parallel()
	w, all := guarded(t, 4, 2)
	w.works(all[0]) // once, before it begins
	w.pass(time.Second)
	for i := range 8 {
		from, to := all[i%2], all[(i+1)%2]
		if err := w.Dir().Remove(from.ID + ".inbox.lock"); err != nil && i > 0 {
			t.Fatal(err)
		}
		if w.says(from, to, mail.Message{}).Held {
			return
		}
		w.pass(15 * time.Second)
	}
	t.Error("nobody was stopped")
}

// Work after the last mail counts, whether the lock file is there or not.
func TestWorkCountsWhereALockFileIsMissing(t *testing.T) {
	t.Parallel()
	w, all := guarded(t, 2, 2)
	for i := range 9 {
		from, to := all[i%2], all[(i+1)%2]
		w.works(from)
		if err := w.Dir().Remove(from.ID + ".inbox.lock"); err != nil && i > 0 {
			t.Fatal(err)
		}
		w.mustPass("message", w.says(from, to, mail.Message{}))
		w.pass(15 * time.Second)
	}
}

// The first tool call that a client tells of may be one of c2c's, right behind a person's prompt or c2c resume.
func TestACallOfOursForgetsNoWork(t *testing.T) {
	t.Parallel()
	w, amber, birch := pair(t)
	if err := sessions.SawWork(w.Registry, amber.ID, false); err != nil {
		t.Fatal(err)
	}
	worked := w.clock
	w.pass(time.Minute)
	for _, s := range []sessions.Session{amber, birch} {
		if err := sessions.SeesTools(w.Registry, s.ID); err != nil {
			t.Fatal(err)
		}
	}
	if did := sessions.WorkOf(w.Registry, amber.ID); !did.Tools || !did.Since(worked) {
		t.Errorf("the person's prompt is forgotten: %+v", did)
	}
	if did := sessions.WorkOf(w.Registry, birch.ID); !did.Tools || did.Since(worked) {
		t.Errorf("the call counts as work: %+v", did)
	}
}
