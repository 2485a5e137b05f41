package broker_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"c2c/broker"
	"c2c/broker/owed"
	"c2c/inbox/mail"
	"c2c/sessions"
	"c2c/sessions/callers"
	"c2c/wake"
)

// reminders gives the bodies of what c2c has written to a session so that it rings, read or not.
func (w *world) reminders(sid string) (texts []string) {
	w.t.Helper()
	history, err := w.box(sid).Archive().History(context.Background(), 1<<20)
	if err != nil {
		w.t.Fatal(err)
	}
	var msgs []mail.Message
	for _, a := range history {
		msgs = append(msgs, a.Message)
	}
	slices.Reverse(msgs)
	for _, m := range append(msgs, w.waiting(sid)...) {
		if m.From == sessions.SystemAlias && !m.Deferrable {
			if len(wake.MayWake([]mail.Message{m})) != 1 {
				w.t.Errorf("reminder %+v wakes nobody", m)
			}
			texts = append(texts, m.Content)
		}
	}
	return texts
}

func (w *world) wantReminders(sid string, n int) {
	w.t.Helper()
	if got := w.reminders(sid); len(got) != n {
		w.t.Errorf("%d reminders to %s, want %d: %q", len(got), sid, n, got)
	}
}

// rings makes a session one that can be rung, until free is called.
func (w *world) rings(s sessions.Session) (free func()) {
	w.t.Helper()
	release, ok, err := w.Locks.BorrowRinging(s.ID)
	if err != nil || !ok {
		w.t.Fatal(ok, err)
	}
	return func() {
		if err := release(); err != nil {
			w.t.Error(err)
		}
	}
}

func TestWhoDoesNotAnswerIsRemindedOnce(t *testing.T) {
	t.Parallel()
	w, amber, birch := pair(t)
	defer w.rings(birch)()
	r := w.put(amber, "birch", mail.Message{Kind: "task", AnswerBy: mail.Seconds(w.clock.Add(time.Hour)), TellAfter: -1})
	w.read(birch.ID)
	k := owed.NewChecker(w.Registry)
	if wait := w.look(k); wait <= 0 || wait > time.Hour {
		t.Errorf("looks again after %v", wait)
	}
	w.pass(time.Hour - time.Second)
	w.look(k)
	w.wantReminders(birch.ID, 0)
	w.pass(time.Second)
	for range 9 {
		for range 2 {
			w.look(k)
			w.look(owed.NewChecker(w.Registry)) // another one, that knows nothing of the first
		}
		if got := w.reminders(birch.ID); len(got) != 1 || !strings.Contains(got[0], "amber waits for your answer to its task "+mail.ShortID(r.ID)) {
			t.Fatalf("reminders %q", got)
		}
		if o := w.owesOne(birch); o.Reminders != 1 || o.State != owed.Overdue || o.MaxWakes != 1 {
			t.Errorf("obligation %+v", o)
		}
		w.read(birch.ID)
		w.pass(time.Hour)
	}
	w.wantNotices(amber.ID, "birch has not answered")
	if record := w.file("owed/" + birch.ID + ".jsonl"); !strings.Contains(record, `"sender_told":true`) {
		t.Errorf("whoever looks tells the sender again: %s", record)
	}
}

func TestTwoWhoLookRemindOnce(t *testing.T) {
	t.Parallel()
	w, amber, birch := pair(t)
	for range 20 {
		w.put(amber, "birch", mail.Message{Kind: "question"})
	}
	w.read(birch.ID)
	w.pass(4 * time.Hour)
	w.lookAtOnce(4)
	w.wantReminders(birch.ID, 1)
	if text := w.reminders(birch.ID)[0]; !strings.Contains(text, "20 answers of yours") || !strings.Contains(text, "and 15 more") {
		t.Errorf("reminder %q", text)
	}
	for _, o := range w.owes(birch, false) {
		if o.Reminders != 1 {
			t.Errorf("obligation %+v", o)
		}
	}
}

// A Checker is killed between the reminder and its record.
func TestAReminderIsThereOnceWhereverItsCheckerIsKilled(t *testing.T) {
	t.Parallel()
	w, _, birch, _ := asks(t, mail.Message{Kind: "question"})
	before := w.file("owed/" + birch.ID + ".jsonl")
	w.read(birch.ID)
	w.pass(4 * time.Hour)
	for range 3 {
		w.look(owed.NewChecker(w.Registry))
		if err := os.WriteFile(filepath.Join(w.Root(), owedDir, birch.ID+owedEnd), []byte(before), 0o600); err != nil {
			t.Fatal(err)
		}
		w.pass(time.Second)
	}
	w.wantReminders(birch.ID, 1)
}

// Nobody is reminded of what it cannot see.
func TestNobodyIsRemindedOfWhatIsHeld(t *testing.T) {
	t.Parallel()
	w, all := guarded(t, 2, 2)
	amber, birch := all[0], all[1]
	for i := range 3 {
		w.says([]sessions.Session{birch, amber}[i%2], []sessions.Session{amber, birch}[i%2], mail.Message{})
	}
	r := w.put(amber, "s1", mail.Message{Kind: "question", AnswerBy: mail.Seconds(w.clock.Add(5 * time.Minute))})
	if !r.Held {
		t.Fatalf("receipt %+v", r)
	}
	w.pass(10 * time.Minute)
	w.look(owed.NewChecker(w.Registry))
	w.wantReminders(birch.ID, 0)
	if o := w.owesOne(birch); o.State != owed.Overdue || !strings.Contains(o.Why, "it is held") || !strings.Contains(o.Do, "c2c resume s0 s1") {
		t.Errorf("obligation %+v", o)
	}
	if _, err := broker.Resume(t.Context(), w.Registry, "s0", "s1"); err != nil {
		t.Fatal(err)
	}
	w.read(birch.ID)
	w.pass(readGrace)
	w.look(owed.NewChecker(w.Registry))
	w.wantReminders(birch.ID, 1)
}

// What is not read rings by itself. Who reads it when the answer is due has some time for it.
func TestNobodyIsRemindedOfWhatIsNotRead(t *testing.T) {
	t.Parallel()
	w, amber, birch := pair(t)
	defer w.rings(birch)()
	for range 30 {
		w.put(amber, "birch", mail.Message{Kind: "question"})
	}
	k := owed.NewChecker(w.Registry)
	for range 20 {
		w.look(k)
		w.once()
		w.pass(time.Hour)
	}
	w.wantReminders(birch.ID, 0)
	w.read(birch.ID)
	if wait := w.look(k); wait <= 0 || wait > readGrace {
		t.Errorf("looks again after %v", wait)
	}
	w.wantReminders(birch.ID, 0)
	w.pass(readGrace)
	w.look(k)
	w.wantReminders(birch.ID, 1)
}

// Answers that become due one after the other do not interrupt a session one after the other.
func TestBetweenTwoRemindersIsHalfAnHour(t *testing.T) {
	t.Parallel()
	w, amber, birch := pair(t)
	defer w.rings(birch)()
	var all []mail.Message
	for i := range 20 {
		at := w.clock.Add(time.Duration(2*i) * time.Minute)
		all = append(all, mail.Message{From: "amber", To: "birch", Content: "x", Kind: "question", ID: fmt.Sprint("q-", i), FromSession: amber.ID,
			TS: mail.Seconds(at), Due: mail.Seconds(at.Add(time.Hour))})
	}
	w.records(birch, all)
	k := owed.NewChecker(w.Registry)
	w.pass(time.Hour)
	for minute := range 40 {
		w.look(k)
		w.read(birch.ID)
		if got, want := len(w.reminders(birch.ID)), 1+minute/int(remindGap/time.Minute); got != want {
			t.Fatalf("after %d minutes: %d reminders, want %d", minute, got, want)
		}
		w.pass(time.Minute)
	}
}

// Who does not read a reminder gets no other one, however many answers become late meanwhile.
func TestAnUnreadReminderIsTheOnlyOne(t *testing.T) {
	t.Parallel()
	w, amber, birch := pair(t)
	for range 5 {
		w.put(amber, "birch", mail.Message{Kind: "question"})
		w.pass(time.Hour)
	}
	w.read(birch.ID)
	k := owed.NewChecker(w.Registry)
	for range 20 {
		w.look(k)
		w.pass(time.Hour)
	}
	w.wantReminders(birch.ID, 1)
	w.read(birch.ID)
	w.look(k)
	w.wantReminders(birch.ID, 2) // of the other answers
}

// A reminder to a session that has ended would be read by nobody. Who waits for the answer can ask
// somebody else.
func TestNobodyIsRemindedWhoHasEnded(t *testing.T) {
	t.Parallel()
	w, amber, birch, r := asks(t, mail.Message{Kind: "question"})
	k := owed.NewChecker(w.Registry)
	w.look(k)
	w.read(birch.ID)
	w.ends(20)
	w.pass(5 * time.Hour)
	for range 3 {
		w.look(k)
		w.look(owed.NewChecker(w.Registry))
		w.pass(time.Hour)
	}
	w.wantReminders(birch.ID, 0)
	w.wantNotices(amber.ID, "birch has ended without an answer")
	if st, err := w.Status(t.Context(), r.ID); err != nil || len(st.Told) != 1 || st.Told[0].Reason != owed.Ended {
		t.Errorf("status %+v, %v", st, err)
	}
	w.starts(20)
	w.register("birch", callers.Caller{Client: "codex", ClientID: "b", PID: w.pid(20)})
	w.look(k)
	w.wantReminders(birch.ID, 1) // it is back, and owes the answer still
	w.look(k)
	w.wantReminders(birch.ID, 1)
}
