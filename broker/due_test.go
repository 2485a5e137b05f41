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

	"c2c/broker/owed"
	"c2c/inbox/mail"
	"c2c/sessions"
)

// isDue says whether a command would look at what messages are owed.
func (w *world) isDue() bool { return w.Due.UntilLook() == 0 }

// looked has somebody look, and nothing due then.
func (w *world) looked() {
	w.t.Helper()
	w.once()
	if w.isDue() {
		w.t.Fatal("somebody has looked, and the next one looks again")
	}
}

func TestACommandLooksWhenSomethingIsDueAndNotBefore(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		message mail.Message
		due     time.Duration // after it was sent
	}{
		"a plain message": {mail.Message{}, owed.TellAfter},
		"a short time":    {mail.Message{TellAfter: 60}, time.Minute},
		"it expires":      {mail.Message{ExpiresAt: 90}, 90 * time.Second},
		"an answer":       {mail.Message{AnswerBy: 300, TellAfter: -1}, 5 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, amber, _ := pair(t)
			w.looked()
			m := c.message
			m.To, m.Content = "birch", "x"
			for _, at := range []*float64{&m.ExpiresAt, &m.AnswerBy} {
				if *at != 0 {
					*at += mail.Seconds(w.clock)
				}
			}
			if _, err := w.Send(t.Context(), amber, m); err != nil {
				t.Fatal(err)
			}
			if is, short := w.isDue(), c.due < sessions.LookEvery; is != short {
				t.Errorf("behind the send somebody is to look: %v, want %v", is, short)
			}
			for passed := time.Duration(0); passed < c.due-time.Second; {
				w.looked()
				step := min(w.Due.UntilLook(), c.due-time.Second-passed)
				passed += step
				w.pass(step)
			}
			w.wantNotices(amber.ID)
			w.pass(time.Second)
			if !w.isDue() {
				t.Error("nobody looks when it is due")
			}
			w.looked()
			if len(w.notices(amber.ID)) != 1 {
				t.Error("nobody is told")
			}
		})
	}
}

// A plain message has nothing to do with owed.due, and what waits is not read as long as nothing is
// due.
func TestNothingIsReadThatIsNotDue(t *testing.T) {
	t.Parallel()
	w, amber, _ := pair(t)
	w.looked()
	lock := filepath.Join(w.Root(), owed.LockName)
	if err := os.Remove(lock); err != nil {
		t.Fatal(err)
	}
	w.send(amber, "birch", "x")
	w.once()
	w.pass(sessions.LookEvery - time.Second)
	w.once()
	if _, err := os.Stat(lock); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a command looks, though nothing is due: %v", err)
	}
}

// The mark can be wrong in many ways. Whatever has happened to it, nobody is told late by more than
// lookEvery.
func TestAMarkThatIsWrongMakesSomebodyLookTooEarly(t *testing.T) {
	t.Parallel()
	path := func(w *world) string { return filepath.Join(w.Root(), sessions.FileName) }
	for name, c := range map[string]struct {
		spoil func(w *world) error
		late  time.Duration
	}{
		"removed":             {func(w *world) error { return os.Remove(path(w)) }, 0},
		"no time":             {func(w *world) error { return w.Dir().WriteNote(sessions.FileName, "soon") }, 0},
		"a file":              {func(w *world) error { return errors.Join(os.Remove(path(w)), os.WriteFile(path(w), nil, 0o600)) }, 0},
		"by an older version": {func(*world) error { return nil }, sessions.LookEvery},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, amber, birch := pair(t)
			w.looked()
			box, err := w.Mailbox(birch.ID) // as one writes that knows of no mark
			if err != nil {
				t.Fatal(err)
			}
			at := mail.Seconds(w.clock.Add(time.Minute))
			if _, err := box.Deliver(t.Context(), mail.Message{From: "amber", To: "birch", Content: "x", ExpiresAt: at}); err != nil {
				t.Fatal(err)
			}
			if err := c.spoil(w); err != nil {
				t.Fatal(err)
			}
			if w.isDue() != (c.late == 0) {
				t.Errorf("due: %v", w.isDue())
			}
			w.once()
			w.clock = mail.FromSeconds(at).Add(c.late)
			w.once()
			if got := w.notices(amber.ID); len(got) == 0 || !strings.Contains(got[len(got)-1], "has expired") {
				t.Errorf("notices %q", got)
			}
		})
	}
}

// Somebody looks, and a message that is due soon is stored behind that look, before it is over.
func TestNothingIsMissedThatIsStoredDuringALook(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]func(*world){
		"there was a mark": (*world).looked,
		"there was none":   func(*world) {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, amber, _ := pair(t)
			before(w)
			mark := w.Due.BeginLook(true)
			w.put(amber, "birch", mail.Message{TellAfter: 60})
			mark.End(time.Time{})
			if !w.isDue() {
				t.Error("the look says that nobody need look")
			}
		})
	}
}

// A sender is killed behind the store, before it could tell that something is due.
func TestASenderThatIsKilledIsNotForgotten(t *testing.T) {
	t.Parallel()
	w, amber, birch := pair(t)
	w.looked()
	m := mail.Message{From: "amber", To: "birch", Content: "x", TellAfter: 60}
	owed.LookInTime(w.Registry, birch.ID, m) // and is killed behind the next step
	box, err := w.Mailbox(birch.ID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := box.Deliver(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	w.pass(time.Minute)
	w.once()
	w.wantNotices(amber.ID, "has not read")
}

// A checker is killed while it looks: the next one looks.
func TestALookThatIsKilledIsDoneAgain(t *testing.T) {
	t.Parallel()
	w, _, _ := pair(t)
	w.looked()
	w.Due.BeginLook(true)
	if !w.isDue() {
		t.Error("nobody looks again")
	}
	w.looked()
}

// A process that looks all the time keeps owed.due ahead, so that commands look at no message.
func TestACheckerKeepsOwedDueAhead(t *testing.T) {
	t.Parallel()
	w, amber, birch := pair(t)
	k := owed.NewChecker(w.Registry)
	for range 30 {
		w.look(k)
		if w.isDue() {
			t.Fatal("the time of owed.due is over")
		}
		w.pass(time.Minute)
	}
	w.put(amber, "birch", mail.Message{TellAfter: 60})
	w.look(k)
	if left := w.Due.UntilLook(); left <= 0 || left > time.Minute {
		t.Errorf("somebody looks after %v", left)
	}
	w.put(amber, "birch", mail.Message{TellAfter: 30})
	w.look(k)
	if left := w.Due.UntilLook(); left <= 0 || left > 30*time.Second {
		t.Errorf("somebody looks after %v", left)
	}
	w.read(birch.ID)
	w.look(k)
	w.pass(time.Minute)
	w.look(k)
	w.wantNotices(amber.ID)
}

// A person waits for a command. What it has no time for is done a minute later, from another
// mailbox on.
func TestACommandDoesNotLookForLong(t *testing.T) {
	t.Parallel()
	w, amber, _ := pair(t)
	w.put(amber, "birch", mail.Message{TellAfter: 60})
	w.pass(time.Minute)
	k := owed.NewChecker(w.Registry)
	k.Once = true
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := k.Look(over); !errors.Is(err, context.Canceled) {
		t.Errorf("err %v", err)
	}
	if left := w.Due.UntilLook(); left <= 0 || left > retryAfter {
		t.Errorf("the next one looks after %v", left)
	}
	w.pass(retryAfter)
	w.once()
	w.wantNotices(amber.ID, "has not read")
}

// Mail that moves to another mailbox brings what it is owed.
func TestSomebodyLooksAtMailThatHasMoved(t *testing.T) {
	t.Parallel()
	w, amber, _ := pair(t)
	w.send(amber, "birch", "x")
	w.ends(20)
	w.looked()
	w.register("birch", w.heir())
	w.wantMail("heir", "x")
	if !w.isDue() {
		t.Error("nobody looks")
	}
}

// once looks as a command does, where no process looks all the time.
func (w *world) once() {
	w.t.Helper()
	defer unforked()()
	if err := owed.NewChecker(w.Registry).LookOnce(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}
