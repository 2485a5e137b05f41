package broker_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"c2c/broker/deadlines"
	"c2c/broker/owed"
	"c2c/inbox/mail"
)

// What is not read rings by itself. Who reads it when the answer is due has some time for it.
func TestNobodyIsRemindedOfWhatIsNotRead(t *testing.T) {
	t.Parallel()
	w, amber, birch := pair(t)
	defer w.rings(birch)()
	for range 30 {
		w.put(amber, "birch", mail.Message{Kind: "question"})
	}
	k := deadlines.NewChecker(w.Registry)
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

// birch owes amber two answers, and writes to it about something else: only what names a question answers it.
func TestAPlainMessageToTheAskerAnswersNothing(t *testing.T) {
	t.Parallel()
	w, amber, birch, r := asks(t, mail.Message{Kind: "question", AnswerBy: 0})
	task := w.put(amber, "birch", mail.Message{Kind: "task"})
	w.read(birch.ID)
	w.pass(time.Minute)
	w.put(birch, "amber", mail.Message{Content: "lunch is at noon"})
	w.pass(5 * time.Hour)
	w.once()
	for _, o := range w.owes(birch, true) {
		if o.State != owed.Overdue || o.Reply != "" {
			t.Errorf("obligation %+v", o)
		}
	}
	if got := w.reminders(birch.ID); len(got) != 1 || !strings.Contains(got[0], "2 answers of yours") {
		t.Errorf("reminders %q", got)
	}
	w.put(birch, "amber", mail.Message{Content: "it is 80", InReplyTo: r.ID})
	for _, o := range w.owes(birch, true) {
		if want := map[string]string{r.ID: owed.Answered, task.ID: owed.Overdue}[o.ID]; o.State != want {
			t.Errorf("%s is %s, want %s", o.ID, o.State, want)
		}
	}
}

// The clock goes ahead by days, somebody looks, and it is set right. What was owed is owed still.
func TestAClockThatWasAheadEndsNoObligation(t *testing.T) {
	t.Parallel()
	for name, look := range map[string]func(*world, *deadlines.Checker){
		"a process that stays": func(w *world, k *deadlines.Checker) { w.look(k) },
		"commands":             func(w *world, _ *deadlines.Checker) { w.once() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const jump = 40 * 24 * time.Hour
			w, amber, birch, r := asks(t, mail.Message{Kind: "question"})
			w.read(birch.ID)
			k := deadlines.NewChecker(w.Registry)
			look(w, k)
			for range 2 { // it happens again, later
				w.pass(jump)
				for range 3 {
					look(w, k)
					w.pass(time.Hour)
				}
				w.pass(-jump)
				look(w, k)
				if o := w.owesOne(amber); o.State != owed.StillOpen && o.State != owed.Overdue {
					t.Fatalf("obligation %+v", o)
				}
				w.pass(10 * 24 * time.Hour)
				look(w, k)
			}
			w.put(birch, "amber", mail.Message{InReplyTo: r.ID})
			w.wantState(amber, owed.Answered)
		})
	}
}

// A question was asked while the clock was ahead. When it is set right its answer is due as long after that.
func TestAQuestionFromTheFutureIsDueInTime(t *testing.T) {
	t.Parallel()
	const ahead = 30 * 24 * time.Hour
	w, amber, birch := pair(t)
	w.pass(ahead)
	w.put(amber, "birch", mail.Message{Kind: "question"})
	w.read(birch.ID)
	w.pass(-ahead)
	k := deadlines.NewChecker(w.Registry)
	if wait := w.look(k); wait <= 0 || wait > 4*time.Hour {
		t.Errorf("looks again after %v", wait)
	}
	w.pass(4*time.Hour - time.Second)
	w.look(k)
	w.wantReminders(birch.ID, 0)
	w.pass(time.Second)
	w.look(k)
	w.wantReminders(birch.ID, 1)
}

// A reminder was sent while the clock was ahead: that keeps no other back.
func TestAReminderFromTheFutureKeepsNoneBack(t *testing.T) {
	t.Parallel()
	w, _, birch, _ := asks(t, mail.Message{Kind: "question"})
	defer w.rings(birch)()
	w.read(birch.ID)
	w.pass(4 * time.Hour)
	w.once()
	w.wantReminders(birch.ID, 1)
	w.read(birch.ID)
	path := filepath.Join(w.Root(), owedDir, birch.ID+owedEnd)
	record := w.file("owed/" + birch.ID + ".jsonl")
	was := `"reminded_at":"` + w.clock.UTC().Format("2006-01-02")
	if !strings.Contains(record, was) {
		t.Fatalf("record %s, want %s", record, was)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(record, was, `"reminded_at":"2999-01-02`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	w.pass(4 * time.Hour)
	w.once()
	w.wantReminders(birch.ID, 2)
}

// However much a session owes, and however its askers have spread that over the day, it is reminded now and then, and never while it
// has not read the reminder before.
func TestManyLateAnswersMakeFewReminders(t *testing.T) {
	t.Parallel()
	for name, reads := range map[string]bool{"reads": true, "does not read": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, amber, birch := pair(t)
			defer w.rings(birch)()
			var all []mail.Message
			for i := range 1500 {
				at := w.clock.Add(time.Duration(i) * time.Minute / 4)
				m := mail.Message{From: "amber", To: "birch", Content: "x", Kind: "question", ID: fmt.Sprint("q-", i), FromSession: amber.ID,
					TS: mail.Seconds(at), Due: mail.Seconds(at.Add(time.Hour))}
				all = append(all, m)
			}
			w.records(birch, all)
			k := deadlines.NewChecker(w.Registry)
			hours := 24
			for range hours * 4 {
				w.pass(15 * time.Minute)
				w.look(k)
				if reads {
					w.read(birch.ID)
				}
			}
			most := 1
			if reads {
				most = hours * int(time.Hour/remindGap)
			}
			if got := len(w.reminders(birch.ID)); got == 0 || got > most {
				t.Errorf("%d reminders, want at most %d", got, most)
			}
		})
	}
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
	k := deadlines.NewChecker(w.Registry)
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
