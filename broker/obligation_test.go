package broker_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"c2c/broker"
	"c2c/broker/moves"
	"c2c/broker/owed"
	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/sessions"
	"c2c/sessions/callers"
	"c2c/wake"
)

// asking is amber, who has asked birch something of a kind.
func asks(t *testing.T, m mail.Message) (w *world, amber, birch sessions.Session, r broker.Receipt) {
	t.Helper()
	w, amber, birch = pair(t)
	return w, amber, birch, w.put(amber, "birch", m)
}

// put sends a message of any kind.
func (w *world) put(from sessions.Session, to string, m mail.Message) broker.Receipt {
	w.t.Helper()
	if m.To = to; m.Content == "" {
		m.Content = "which port"
	}
	r, err := w.Send(context.Background(), from, m)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

func (w *world) owes(s sessions.Session, all bool) []broker.Obligation {
	w.t.Helper()
	list, err := broker.Obligations(context.Background(), w.Registry, s, all)
	if err != nil {
		w.t.Fatal(err)
	}
	return list
}

// owesOne is the only obligation that a session sees, over or not.
func (w *world) owesOne(s sessions.Session) broker.Obligation {
	w.t.Helper()
	list := w.owes(s, true)
	if len(list) != 1 {
		w.t.Fatalf("obligations %+v", list)
	}
	return list[0]
}

func (w *world) wantState(s sessions.Session, state string) broker.Obligation {
	w.t.Helper()
	o := w.owesOne(s)
	if o.State != state {
		w.t.Errorf("obligation %+v, want it %s", o, state)
	}
	return o
}

func TestWhatAsksIsDueByItsBucket(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		m      mail.Message
		bucket string
		within time.Duration // 0: nothing is owed
	}{
		"question":        {mail.Message{Kind: "question"}, "normal", 4 * time.Hour},
		"urgent task":     {mail.Message{Kind: "task", Tag: "urgent"}, "urgent", 30 * time.Minute},
		"blocking review": {mail.Message{Kind: "review", Tag: "blocking"}, "blocking", 10 * time.Minute},
		"answer by":       {mail.Message{Kind: "task", Tag: "blocking", AnswerBy: -1}, "blocking", 90 * time.Second},
		"message":         {mail.Message{Tag: "urgent"}, "", 0},
		"status":          {mail.Message{Kind: "status"}, "", 0},
		"ack":             {mail.Message{Kind: "ack"}, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, amber, birch := pair(t)
			if c.m.AnswerBy != 0 {
				c.m.AnswerBy = mail.Seconds(w.clock.Add(c.within))
			}
			r := w.put(amber, "birch", c.m)
			mine, theirs := w.owes(birch, false), w.owes(amber, false)
			if c.within == 0 {
				if len(mine)+len(theirs) != 0 || r.Asked != (owed.Asked{}) || w.left(birch.ID) {
					t.Fatalf("owed %+v, %+v, receipt %+v", mine, theirs, r)
				}
				return
			}
			due := w.clock.Add(c.within).UTC().Truncate(time.Microsecond)
			if len(mine) != 1 || len(theirs) != 1 || mine[0].Side != broker.SideOwe || theirs[0].Side != broker.SideOwed {
				t.Fatalf("owed %+v, %+v", mine, theirs)
			}
			if o := mine[0]; o.State != owed.StillOpen || o.Bucket != c.bucket || !o.Due.Equal(due) || !o.Action || !o.Answer || o.From != "amber" || o.To != "birch" || o.ID != r.ID {
				t.Errorf("obligation %+v, want it due at %v", o, due)
			}
			if !r.Asked.Due.Equal(due) || r.Bucket != c.bucket || !r.Action || !r.Reply {
				t.Errorf("receipt %+v", r)
			}
			if st, err := w.Status(t.Context(), r.ID); err != nil || st.Asked != r.Asked {
				t.Errorf("status %+v, %v", st, err)
			}
			stored, err := w.box(birch.ID).Peek(t.Context())
			if err != nil || len(stored) != 1 {
				t.Fatal(stored, err)
			}
			if text, _ := stored[0].MarshalJSON(); !strings.Contains(string(text), `"action_required":true,"reply_required":true,"bucket":"`+c.bucket+`"`) || stored[0].Due != mail.Seconds(due) {
				t.Errorf("the message is %s", text)
			}
		})
	}
}

func TestNobodyOwesAnythingForAMessageToAll(t *testing.T) {
	t.Parallel()
	w, amber, birch := pair(t)
	sent, _, err := w.SendAll(t.Context(), amber, mail.Message{Kind: "question", Content: "who is there"})
	if err != nil || len(sent) != 1 || w.left(birch.ID) || len(w.owes(birch, true)) != 0 || sent[0].Asked != (owed.Asked{}) {
		t.Errorf("sent %+v, %v; owed %+v", sent, err, w.owes(birch, true))
	}
}

func TestAnObligationEndsWithTheRightAnswer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer mail.Message
		state  string
		acked  bool
	}{
		"message":  {mail.Message{}, owed.Answered, true},
		"review":   {mail.Message{Kind: "review"}, owed.Answered, true},
		"failure":  {mail.Message{Tag: "fail"}, owed.Refused, true},
		"ack":      {mail.Message{Kind: "ack"}, owed.StillOpen, true},
		"status":   {mail.Message{Kind: "status"}, owed.StillOpen, true},
		"question": {mail.Message{Kind: "question"}, owed.StillOpen, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, amber, birch, r := asks(t, mail.Message{Kind: "task"})
			w.pass(time.Minute)
			w.read(birch.ID)
			read := w.clock
			w.pass(time.Minute)
			a := c.answer
			a.InReplyTo = r.ID
			answer := w.put(birch, "amber", a)
			list := w.owes(amber, true)
			i := 0
			for list[i].ID != r.ID {
				i++
			}
			o := list[i]
			if o.State != c.state || o.AckedAt.IsZero() || !o.ObservedAt.Equal(read.Truncate(time.Microsecond)) {
				t.Errorf("obligation %+v", o)
			}
			over := c.state != owed.StillOpen
			if over != (o.Reply == answer.ID) || over != !o.ClosedAt.IsZero() || over == w.left(birch.ID) {
				t.Errorf("obligation %+v, record there: %v", o, w.left(birch.ID))
			}
		})
	}
}

// Only who was asked can answer, and only to who has asked.
func TestAnObligationDoesNotEndByOthers(t *testing.T) {
	t.Parallel()
	w, amber, birch, r := asks(t, mail.Message{Kind: "question"})
	coral := w.register("coral", callers.Caller{PID: w.pid(30)})
	w.put(coral, "amber", mail.Message{InReplyTo: r.ID})
	w.put(birch, "coral", mail.Message{InReplyTo: r.ID})
	w.put(birch, "amber", mail.Message{}) // of one that has not read it
	w.pass(time.Second)
	w.read(birch.ID)
	if o := w.wantState(birch, owed.StillOpen); !o.AckedAt.IsZero() {
		t.Errorf("obligation %+v", o)
	}
	w.pass(4 * time.Hour)
	w.look(owed.NewChecker(w.Registry))
	w.wantState(amber, owed.Overdue)
	w.wantReminders(birch.ID, 1)
}

func TestRingsAreCountedForWhatIsOwed(t *testing.T) {
	t.Parallel()
	w, amber, birch, r := asks(t, mail.Message{Kind: "task"})
	w.put(amber, "birch", mail.Message{})
	waiting, err := w.box(birch.ID).PeekAll(t.Context())
	if err != nil || len(waiting) != 2 {
		t.Fatal(waiting, err)
	}
	start := w.clock
	for _, outcome := range []string{wake.Coalesced, wake.Rang, wake.Rang, wake.Filtered} {
		w.pass(time.Minute)
		if err := owed.CountRing(t.Context(), w.Registry, birch.ID, waiting, wake.Ring{At: w.clock, Method: "sse", Outcome: outcome}); err != nil {
			t.Fatal(err)
		}
	}
	got := w.wantState(amber, owed.StillOpen)
	at := func(minutes int) time.Time { return start.Add(time.Duration(minutes) * time.Minute).UTC() }
	want := owed.Wakes{Count: 4, RangAt: at(2), First: at(1), Last: at(4), Path: "sse", Result: wake.Filtered}
	if w := got.Wakes; w.Count != want.Count || !w.RangAt.Equal(want.RangAt) || !w.First.Equal(want.First) || !w.Last.Equal(want.Last) || w.Path != want.Path || w.Result != want.Result {
		t.Errorf("wakes %+v, want %+v", got.Wakes, want)
	}
	w.put(birch, "amber", mail.Message{InReplyTo: r.ID})
	if o := w.wantState(amber, owed.Answered); o.Wakes.Count != 4 {
		t.Errorf("obligation %+v", o)
	}
}

// Hooks ring, too: they say that mail waits, or ring a session that has no server.
func TestRingsOfHooksAreCounted(t *testing.T) {
	t.Parallel()
	w, amber, birch, _ := asks(t, mail.Message{Kind: "question"})
	err := w.HandOver(t.Context(), birch, broker.Reader{
		By: inbox.ByHook, Limit: 1 << 20,
		Render: func([]mail.Message, bool) (broker.Rendered, error) {
			return broker.Rendered{Announced: []int{0}, Write: func() error { return nil }}, nil
		},
	})
	if o := w.owesOne(amber); err != nil || o.Wakes.Count != 1 || o.Wakes.Path != inbox.ByHook || o.Wakes.RangAt.IsZero() {
		t.Errorf("%v, wakes %+v", err, o.Wakes)
	}
	w.pass(time.Hour)
	rang, err := w.RingOnce(t.Context(), birch.ID, func(wake.Notice) error { return nil })
	if o := w.owesOne(amber); err != nil || !rang || o.Wakes.Count != 2 || o.Wakes.Path != wake.ByFile || o.Wakes.Result != wake.Rang {
		t.Errorf("%v, %v, wakes %+v", rang, err, o.Wakes)
	}
}

// A ringer may be faster than the sender, who writes the record behind the message.
func TestARingBeforeTheRecordIsCounted(t *testing.T) {
	t.Parallel()
	w, amber, birch := pair(t)
	m := mail.Message{From: "amber", To: "birch", Content: "x", Kind: "question", Due: mail.Seconds(w.clock.Add(time.Hour))}
	stored, err := w.box(birch.ID).Deliver(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	m = stored.Messages[0]
	ring := wake.Ring{At: w.clock, Method: "socket", Outcome: wake.Rang}
	if err := owed.CountRing(t.Context(), w.Registry, birch.ID, []mail.Message{m}, ring); err != nil {
		t.Fatal(err)
	}
	if err := owed.AddFor(t.Context(), w.Registry, birch, m, false); err != nil {
		t.Fatal(err)
	}
	if o := w.owesOne(amber); o.Wakes.Count != 1 || o.Wakes.RangAt.IsZero() {
		t.Errorf("obligation %+v", o)
	}
	if err := owed.CountRing(t.Context(), w.Registry, birch.ID, []mail.Message{m}, ring); err != nil {
		t.Fatal(err)
	}
	if o := w.owesOne(amber); o.Wakes.Count != 2 || strings.Count(w.file("owed/"+birch.ID+".jsonl"), "\n") != 1 {
		t.Errorf("obligation %+v in %s", o, w.file("owed/"+birch.ID+".jsonl"))
	}
	// A ring for a message that was answered long ago, and still waits, begins nothing anew.
	w.put(birch, "amber", mail.Message{InReplyTo: m.ID})
	w.pass(time.Minute)
	if err := owed.CountRing(t.Context(), w.Registry, birch.ID, []mail.Message{m}, ring); err != nil || w.left(birch.ID) {
		t.Errorf("%v, record there: %v", err, w.left(birch.ID))
	}
}

func TestObligationsMoveWithTheirRoot(t *testing.T) {
	p := newTwoRoots(t)
	from := p.broker(p.web)
	amber, birch := p.member(from, "amber", "amber"), p.member(from, "birch", "birch")
	ask := func(body string) broker.Receipt {
		r, err := from.Send(t.Context(), amber, mail.Message{To: "birch", Content: body, Kind: "question"})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	over, open := ask("one"), ask("two")
	if _, err := from.Send(t.Context(), birch, mail.Message{To: "amber", Content: "1", InReplyTo: over.ID}); err != nil {
		t.Fatal(err)
	}
	if _, err := p.take(false); err != nil {
		t.Fatal(err)
	}
	list, err := broker.Obligations(t.Context(), p.into.Registry, sessions.Session{ID: "birch"}, true)
	if err != nil || len(list) != 1 || list[0].ID != open.ID || list[0].State != owed.StillOpen {
		t.Errorf("obligations %+v, %v", list, err)
	}
}

// The answer is faster than the record, or nobody has closed it: whoever looks finds it.
func TestAnAnswerIsFoundThatTheRecordDoesNotTell(t *testing.T) {
	t.Parallel()
	for name, look := range map[string]func(w *world){
		"by a process that looks all the time": func(w *world) { w.look(owed.NewChecker(w.Registry)) },
		"by a command":                         (*world).once,
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
			w.pass(4 * time.Hour)
			look(w)
			o := w.wantState(birch, owed.Answered)
			if o.Reply != answer.ID || !o.ClosedAt.Equal(at.Truncate(time.Microsecond)) || !o.ObservedAt.Equal(at.Add(-time.Minute).Truncate(time.Microsecond)) || w.left(birch.ID) {
				t.Errorf("obligation %+v, record there: %v", o, w.left(birch.ID))
			}
			w.wantReminders(birch.ID, 0)
		})
	}
}

// A message that is sent again, because its sender was killed before the record, is owed once, and
// not at all once it was answered.
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

// What waits goes to the heir, who owes it then; what was read and not answered is over, and its
// sender was told.
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
	w.look(owed.NewChecker(w.Registry))
	w.wantState(amber, owed.Expired)
	w.pass(5 * time.Hour)
	w.look(owed.NewChecker(w.Registry))
	w.wantReminders(birch.ID, 0)
}

func TestAnObligationThatNobodyAnswersIsGivenUp(t *testing.T) {
	t.Parallel()
	w, amber, birch, _ := asks(t, mail.Message{Kind: "question"})
	k := owed.NewChecker(w.Registry)
	w.look(k)
	w.pass(4*time.Hour + overdueLimit - time.Second)
	w.look(k)
	w.wantState(amber, owed.Overdue)
	w.pass(time.Second)
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
	k := owed.NewChecker(w.Registry)
	w.look(k)
	w.pass(5 * time.Hour)
	w.look(k)
	if list, err := json.Marshal(w.owes(amber, true)); err != nil || !strings.Contains(string(list), r.ID) {
		t.Errorf("%s, %v", list, err)
	}
	w.put(birch, "amber", mail.Message{InReplyTo: r.ID})
	if left := w.file("owed/" + birch.ID + ".jsonl"); strings.Contains(left, r.ID) {
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
	k := owed.NewChecker(w.Registry)
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
