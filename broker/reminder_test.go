package broker_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"c2c/broker"
	"c2c/broker/deadlines"
	"c2c/broker/moves"
	"c2c/broker/owed"
	"c2c/inbox/mail"
	"c2c/sessions"
	"c2c/sessions/callers"
)

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

func TestWhoDoesNotAnswerIsReminded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		full bool
		want []int // reminders after each hour since the message, that is due in one
	}{
		"can be rung":    {true, []int{1, 2, 2, 3, 3, 3, 3, 3, 3}},
		"cannot be rung": {false, []int{1, 1, 1, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, amber, birch := pair(t)
			if c.full {
				defer w.rings(birch)()
			}
			r := w.put(amber, "birch", mail.Message{Kind: "task", AnswerBy: mail.Seconds(w.clock.Add(time.Hour)), TellAfter: -1})
			w.read(birch.ID)
			k := deadlines.NewChecker(w.Registry)
			wait := w.look(k)
			if wait <= 0 || wait > time.Hour {
				t.Errorf("looks again after %v", wait)
			}
			w.pass(time.Hour - time.Second)
			w.look(k)
			w.wantReminders(birch.ID, 0)
			w.pass(time.Second)
			for hour, n := range c.want {
				for range 2 {
					w.look(k)
					w.look(deadlines.NewChecker(w.Registry)) // another one, that knows nothing of the first
				}
				if got := w.reminders(birch.ID); len(got) != n || !strings.Contains(got[0], "amber waits for your answer to its task "+mail.ShortID(r.ID)) {
					t.Fatalf("%d hours: %q, want %d", hour+1, got, n)
				}
				if o := w.owesOne(birch); o.Reminders != n || o.State != owed.Overdue || o.MaxWakes != maxReminders(o.Surface) {
					t.Errorf("obligation %+v", o)
				}
				w.read(birch.ID)
				w.pass(time.Hour)
			}
			w.wantNotices(amber.ID, "birch has not answered")
			if record := w.file("owed/" + birch.ID + ".jsonl"); !strings.Contains(record, `"sender_told":true`) {
				t.Errorf("whoever looks tells the sender again: %s", record)
			}
		})
	}
}

// When nobody has looked for long there is one reminder, and not one of each time that has passed.
func TestAReminderIsNotMadeUpFor(t *testing.T) {
	t.Parallel()
	w, _, birch, _ := asks(t, mail.Message{Kind: "question"})
	defer w.rings(birch)()
	w.read(birch.ID)
	w.pass(48 * time.Hour)
	w.look(deadlines.NewChecker(w.Registry))
	w.wantReminders(birch.ID, 1)
	w.look(deadlines.NewChecker(w.Registry))
	w.wantReminders(birch.ID, 1)
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
		w.look(deadlines.NewChecker(w.Registry))
		if err := os.WriteFile(filepath.Join(w.Root(), owedDir, birch.ID+owedEnd), []byte(before), 0o600); err != nil {
			t.Fatal(err)
		}
		w.pass(time.Second)
	}
	w.wantReminders(birch.ID, 1)
}

// The answer is faster than the record, or nobody has closed it: whoever looks finds it.
func TestAnAnswerIsFoundThatTheRecordDoesNotTell(t *testing.T) {
	t.Parallel()
	for name, look := range map[string]func(w *world){
		"by who looks all the time": func(w *world) { w.look(deadlines.NewChecker(w.Registry)) },
		"when it is due":            func(w *world) { w.pass(4 * time.Hour); w.once() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, amber, birch, r := asks(t, mail.Message{Kind: "question"})
			path := filepath.Join(w.Root(), owedDir, birch.ID+owedEnd)
			record := w.file("owed/" + birch.ID + ".jsonl")
			w.pass(time.Minute)
			w.read(birch.ID)
			w.pass(time.Minute)
			answer := w.put(birch, "amber", mail.Message{InReplyTo: r.ID})
			at := w.clock
			if w.left(birch.ID) {
				t.Fatal("the record stays")
			}
			if err := os.WriteFile(path, []byte(record), 0o600); err != nil { // as if it had been written now
				t.Fatal(err)
			}
			if o := w.owes(amber, false); len(o) != 0 {
				t.Errorf("still owed: %+v", o)
			}
			w.pass(time.Minute)
			look(w)
			o := w.wantState(birch, owed.Answered)
			if o.Reply != answer.ID || !o.ClosedAt.Equal(at.Truncate(time.Microsecond)) || !o.ObservedAt.Equal(at.Add(-time.Minute).Truncate(time.Microsecond)) || w.left(birch.ID) {
				t.Errorf("obligation %+v, record there: %v", o, w.left(birch.ID))
			}
			w.wantReminders(birch.ID, 0)
		})
	}
}

// once looks as a command does, where no process looks all the time.
func (w *world) once() {
	w.t.Helper()
	defer unforked()()
	if err := deadlines.CheckOnce(w.t.Context(), w.Registry); err != nil {
		w.t.Fatal(err)
	}
}

// A message that is sent again, because its sender was killed before the record, is owed once, and not at all once it was
// answered.
func TestARepeatedQuestionIsOwedOnce(t *testing.T) {
	t.Parallel()
	m := mail.Message{Kind: "question", ID: "q-1"}
	w, amber, birch, r := asks(t, m)
	w.put(amber, "birch", m)
	w.wantState(amber, owed.StillOpen)
	path := filepath.Join(w.Root(), owedDir, birch.ID+owedEnd)
	if err := os.Remove(path); err != nil { // as if it had been killed
		t.Fatal(err)
	}
	if o := w.owes(amber, true); len(o) != 0 {
		t.Fatalf("obligations %+v", o)
	}
	w.pass(time.Hour)
	if again := w.put(amber, "birch", m); !again.Duplicate || !again.Asked.Due.Equal(r.Asked.Due) {
		t.Errorf("receipt %+v, the first was %+v", again, r)
	}
	if o := w.wantState(amber, owed.StillOpen); !o.Due.Equal(r.Asked.Due) {
		t.Errorf("obligation %+v", o)
	}
	w.put(birch, "amber", mail.Message{InReplyTo: r.ID})
	w.put(amber, "birch", m)
	w.wantState(amber, owed.Answered)
	if w.left(birch.ID) {
		t.Error("it is owed again")
	}
}

func TestARenamedSenderIsStillOwed(t *testing.T) {
	t.Parallel()
	w, _, birch, r := asks(t, mail.Message{Kind: "review"})
	w.pass(time.Second)
	ash := w.register("ash", callers.Caller{Client: "claude", ClientID: "a", PID: w.pid(10)})
	if o := w.wantState(ash, owed.StillOpen); o.From != "ash" || o.Side != broker.SideOwed {
		t.Errorf("obligation %+v", o)
	}
	w.put(birch, "ash", mail.Message{InReplyTo: r.ID})
	w.wantState(ash, owed.Answered)
}

// What waits goes to the heir, who owes it then; what was read and not answered is over, and its sender was told.
func TestAnObligationIsHandedOver(t *testing.T) {
	t.Parallel()
	w, amber, birch, read := asks(t, mail.Message{Kind: "question"})
	w.read(birch.ID)
	waits := w.put(amber, "birch", mail.Message{Kind: "task"})
	coral := w.register("coral", callers.Caller{Client: "gem", PID: w.pid(30)})
	w.ends(20)
	if _, err := moves.TakeOver(t.Context(), w.Registry, "birch", "coral", false, false); err != nil {
		t.Fatal(err)
	}
	states := map[string]string{}
	for _, o := range w.owes(amber, true) {
		states[o.ID+" "+o.SessionID] = o.State
	}
	if states[read.ID+" "+birch.ID] != owed.HandedOver || states[waits.ID+" "+coral.ID] != owed.StillOpen || w.left(birch.ID) {
		t.Errorf("obligations %v", states)
	}
	w.put(coral, "amber", mail.Message{InReplyTo: waits.ID})
	if list := w.owes(coral, false); len(list) != 0 || w.left(coral.ID) {
		t.Errorf("obligations %+v", list)
	}
}

func TestASweptSessionOwesNothing(t *testing.T) {
	t.Parallel()
	w, amber, birch, _ := asks(t, mail.Message{Kind: "question"})
	w.read(birch.ID)
	waits := w.put(amber, "birch", mail.Message{Kind: "task"})
	w.ends(20)
	w.pass(2 * time.Hour)
	if _, err := moves.Sweep(t.Context(), w.Registry, time.Hour); err != nil {
		t.Fatal(err)
	}
	for _, o := range w.owes(amber, true) {
		if o.State != owed.WasSwept {
			t.Errorf("obligation %+v", o)
		}
	}
	w.starts(20)
	birch = w.register("birch", callers.Caller{Client: "codex", ClientID: "b", PID: w.pid(20)}) // it is back, and has its dead letters
	if list := w.owes(amber, false); len(list) != 1 || list[0].ID != waits.ID || list[0].SessionID != birch.ID {
		t.Errorf("obligations %+v", list)
	}
	if list := w.owes(amber, true); len(list) != 2 || list[0].ID != waits.ID || list[0].State != owed.StillOpen || list[1].State != owed.WasSwept {
		t.Errorf("with what is over %+v", list)
	}
	if st := w.stats(); st.Open != 1 || st.Over[owed.WasSwept] != 1 || st.Total.Sent != 2 {
		t.Errorf("stats %+v", st)
	}
}

func TestAnExpiredQuestionIsOver(t *testing.T) {
	t.Parallel()
	w, amber, birch := pair(t)
	w.put(amber, "birch", mail.Message{Kind: "question", ExpiresAt: mail.Seconds(w.clock.Add(time.Minute))})
	w.pass(time.Minute)
	w.look(deadlines.NewChecker(w.Registry))
	w.wantState(amber, owed.Expired)
	w.pass(5 * time.Hour)
	w.look(deadlines.NewChecker(w.Registry))
	w.wantReminders(birch.ID, 0)
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
	w.look(deadlines.NewChecker(w.Registry))
	w.wantReminders(birch.ID, 0)
	if o := w.owesOne(birch); o.State != owed.Overdue || !strings.Contains(o.Why, "it is held") || !strings.Contains(o.Do, "c2c resume s0 s1") {
		t.Errorf("obligation %+v", o)
	}
	if _, err := broker.Resume(t.Context(), w.Registry, "s0", "s1"); err != nil {
		t.Fatal(err)
	}
	w.read(birch.ID)
	w.pass(readGrace)
	w.look(deadlines.NewChecker(w.Registry))
	w.wantReminders(birch.ID, 1)
}

func TestAnObligationThatNobodyAnswersIsGivenUp(t *testing.T) {
	t.Parallel()
	w, amber, birch, _ := asks(t, mail.Message{Kind: "question"})
	k := deadlines.NewChecker(w.Registry)
	w.look(k)
	w.pass(4*time.Hour + overdueLimit)
	if wait := w.look(k); wait > giveUpAfter {
		t.Errorf("looks again after %v", wait)
	}
	w.wantState(amber, owed.Overdue)
	w.pass(giveUpAfter)
	w.look(k)
	w.wantState(amber, owed.GivenUp)
	if w.left(birch.ID) {
		t.Error("the record stays")
	}
}

// A file of records that others have written in stops nobody.
func TestRecordsThatAreNoneStopNobody(t *testing.T) {
	t.Parallel()
	w, amber, birch, r := asks(t, mail.Message{Kind: "question"})
	path := filepath.Join(w.Root(), owedDir, birch.ID+owedEnd)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	odd := `{"from_alias":"amb` + "\n" + `[]` + "\n" + `{"from_alias":"amber","to_alias":"birch","content":"","message_id":"m","kind":"task","due":1e300,"obligation":{"wakes":7}}` + "\n" +
		`{"from_alias":"amber","to_alias":"birch","content":"","message_id":"../x","kind":"task","due":1,"ts":1e300,"obligation":[]}` + "\n"
	if err := os.WriteFile(path, append([]byte(odd), data...), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".x.jsonl", "..jsonl", "a b.jsonl"} {
		if err := os.WriteFile(filepath.Join(w.Root(), owedDir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	k := deadlines.NewChecker(w.Registry)
	w.look(k)
	w.pass(5 * time.Hour)
	w.look(k)
	if list, err := json.Marshal(w.owes(amber, true)); err != nil || !strings.Contains(string(list), r.ID) {
		t.Errorf("%s, %v", list, err)
	}
	w.put(birch, "amber", mail.Message{InReplyTo: r.ID})
	if left := w.file("owed/" + birch.ID + ".jsonl"); strings.Contains(left, r.ID) || !strings.Contains(left, `{"from_alias":"amb`+"\n") {
		t.Errorf("left is %s", left)
	}
}

// What stands in the place of a file of records stops nobody else, and is told.
func TestWhatIsNoFileOfRecordsStopsNobodyElse(t *testing.T) {
	t.Parallel()
	w, amber, birch, r := asks(t, mail.Message{Kind: "question"})
	coral := w.register("coral", callers.Caller{Client: "gem", PID: w.pid(30)})
	if err := os.Mkdir(filepath.Join(w.Root(), owedDir, coral.ID+owedEnd), 0o700); err != nil {
		t.Fatal(err)
	}
	sent := w.put(amber, "coral", mail.Message{Kind: "question"})
	if sent.ID == "" || sent.Duplicate {
		t.Errorf("receipt %+v", sent)
	}
	w.put(coral, "amber", mail.Message{InReplyTo: sent.ID})
	list, err := broker.Obligations(t.Context(), w.Registry, amber, true)
	if err == nil || len(list) != 1 || list[0].ID != r.ID {
		t.Errorf("obligations %+v, %v", list, err)
	}
	w.read(birch.ID)
	w.pass(4 * time.Hour)
	k := deadlines.NewChecker(w.Registry)
	for range 2 { // it does not look again and again
		if wait := w.look(k); wait < retryAfter/2 || wait > retryAfter {
			t.Errorf("looks again after %v", wait)
		}
		w.pass(retryAfter)
	}
	w.wantReminders(birch.ID, 1)
}

// Far more than any session is asked: a look at all, and an answer to one.
// records writes down that a session owes an answer to each of these.
func (w *world) records(s sessions.Session, all []mail.Message) {
	w.t.Helper()
	var lines []byte
	for _, m := range all {
		line, err := json.Marshal(m)
		if err != nil {
			w.t.Fatal(err)
		}
		lines = append(append(lines, line...), '\n')
	}
	dir := filepath.Join(w.Root(), "owed")
	if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, s.ID+".jsonl"), lines, 0o600)); err != nil {
		w.t.Fatal(err)
	}
}

func TestTenThousandObligations(t *testing.T) {
	w, amber, birch := pair(t)
	var all []mail.Message
	for i := range 10_000 {
		m := mail.Message{From: "amber", To: "birch", Content: "x", Kind: "question", ID: mail.NewID(w.clock), TS: mail.Seconds(w.clock), Due: mail.Seconds(w.clock.Add(time.Hour + time.Duration(i)*time.Second))}
		all = append(all, m)
	}
	w.records(birch, all)
	k := deadlines.NewChecker(w.Registry)
	if wait := w.look(k); wait <= 0 || wait > time.Hour {
		t.Errorf("looks again after %v", wait)
	}
	list := w.owes(amber, false)
	if len(list) != 10_000 || list[0].ID != all[0].ID || list[9_999].Due.Before(list[0].Due) || list[0].Why == "" || list[9_999].Why != "" {
		t.Errorf("%d obligations", len(list))
	}
	w.put(birch, "amber", mail.Message{InReplyTo: all[77].ID})
	if left := w.owes(amber, false); len(left) != 9_999 {
		t.Errorf("%d obligations are left", len(left))
	}
}
