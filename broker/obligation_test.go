package broker_test

import (
	"context"
	"slices"
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
	w.look(deadlines.NewChecker(w.Registry))
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
		if err := owed.Pushed(t.Context(), w.Registry, birch.ID, waiting, wake.Ring{At: w.clock, Method: "sse", Outcome: outcome}); err != nil {
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
	err := moves.HandOver(t.Context(), w.Registry, birch, moves.Reader{
		By: sessions.ByHook, Limit: 1 << 20, Write: func() error { return nil },
		Render: func([]mail.Message, bool) (shown, announced []int, err error) { return nil, []int{0}, nil },
	})
	if o := w.owesOne(amber); err != nil || o.Wakes.Count != 1 || o.Wakes.Path != sessions.ByHook || o.Wakes.RangAt.IsZero() {
		t.Errorf("%v, wakes %+v", err, o.Wakes)
	}
	w.pass(time.Hour)
	rang, err := moves.RingOnce(t.Context(), w.Registry, birch.ID, func(wake.Notice) error { return nil })
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
	if err := owed.Pushed(t.Context(), w.Registry, birch.ID, []mail.Message{m}, ring); err != nil {
		t.Fatal(err)
	}
	if err := owed.AddFor(t.Context(), w.Registry, birch, m, false); err != nil {
		t.Fatal(err)
	}
	if o := w.owesOne(amber); o.Wakes.Count != 1 || o.Wakes.RangAt.IsZero() {
		t.Errorf("obligation %+v", o)
	}
	if err := owed.Pushed(t.Context(), w.Registry, birch.ID, []mail.Message{m}, ring); err != nil {
		t.Fatal(err)
	}
	if o := w.owesOne(amber); o.Wakes.Count != 2 || strings.Count(w.file("owed/"+birch.ID+".jsonl"), "\n") != 1 {
		t.Errorf("obligation %+v in %s", o, w.file("owed/"+birch.ID+".jsonl"))
	}
	// A ring for a message that was answered long ago, and still waits, begins nothing anew.
	w.put(birch, "amber", mail.Message{InReplyTo: m.ID})
	w.pass(time.Minute)
	if err := owed.Pushed(t.Context(), w.Registry, birch.ID, []mail.Message{m}, ring); err != nil || w.left(birch.ID) {
		t.Errorf("%v, record there: %v", err, w.left(birch.ID))
	}
}

// The sender may write the record just after a ringer has found that there is none: the line of the ring comes behind it then.
func TestARingBesideTheRecordIsCounted(t *testing.T) {
	t.Parallel()
	w, amber, birch := pair(t)
	w.put(amber, "birch", mail.Message{Kind: "question"})
	waiting, err := w.box(birch.ID).PeekAll(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	rung := owed.NewRecord(waiting[0])
	rung.Wakes.Add(wake.Ring{At: w.clock.Add(time.Second), Method: "socket", Outcome: wake.Rang})
	later := owed.NewRecord(waiting[0])
	later.Wakes.Add(wake.Ring{At: w.clock.Add(time.Minute), Outcome: wake.Coalesced})
	for _, d := range []owed.Record{later, rung} {
		if err := owed.AddRecords(t.Context(), w.Registry, birch.ID, false, d); err != nil {
			t.Fatal(err)
		}
	}
	want := owed.Wakes{Count: 2, RangAt: w.clock.Add(time.Second).UTC(), First: w.clock.Add(time.Second).UTC(), Last: w.clock.Add(time.Minute).UTC(), Path: "socket", Result: wake.Coalesced}
	if o := w.owesOne(amber); o.Wakes != want {
		t.Errorf("wakes %+v, want %+v", o.Wakes, want)
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
