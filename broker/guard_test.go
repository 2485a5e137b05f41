package broker_test

import (
	"errors"
	"fmt"
	"os"
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

// guarded are sessions whose clients tell of tool calls, in a root with such a limit; 0: the usual
// one.
func guarded(t *testing.T, hops, n int) (w *world, all []sessions.Session) {
	t.Helper()
	w = newWorldOf(t, broker.Config{Hops: hops})
	for i := range n {
		pid := 200 + i
		w.starts(pid)
		s := w.register(fmt.Sprintf("s%d", i), callers.Caller{Client: "gem", ClientID: fmt.Sprint(i), PID: w.pid(pid)})
		if err := sessions.SeesTools(w.Registry, s.ID); err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	return w, all
}

// works has a session call a tool that is none of c2c's.
func (w *world) works(s sessions.Session) {
	w.t.Helper()
	if err := sessions.SawWork(w.Registry, s.ID, true); err != nil {
		w.t.Fatal(err)
	}
}

// says sends, and has the receiver read what it may, if it was not held. It must be stored.
func (w *world) says(from, to sessions.Session, m mail.Message) broker.Receipt {
	w.t.Helper()
	m.To, m.Content = to.Alias, "x"
	r, err := w.Send(w.t.Context(), from, m)
	if err != nil {
		w.t.Fatal(err)
	}
	w.pass(time.Millisecond)
	if !r.Held {
		w.read(to.ID)
	}
	return r
}

// mustPass wants that a message is neither held nor kept back.
func (w *world) mustPass(what string, r broker.Receipt) {
	w.t.Helper()
	if r.Held || !r.HeldUntil.IsZero() || strings.Contains(r.Note, "without any work") {
		w.t.Fatalf("%s: %+v", what, r)
	}
}

func (w *world) person() string { return fmt.Sprintf("person-%d", os.Getuid()) }

// heldOnce are two that have answered each other until the first one's message is held.
func heldOnce(t *testing.T) (w *world, amber, birch sessions.Session, held broker.Receipt) {
	t.Helper()
	w, all := guarded(t, 2, 2)
	amber, birch = all[0], all[1]
	w.says(birch, amber, mail.Message{})
	w.says(amber, birch, mail.Message{})
	w.says(birch, amber, mail.Message{})
	if held = w.says(amber, birch, mail.Message{}); !held.Held {
		t.Fatalf("receipt %+v", held)
	}
	return w, amber, birch, held
}

// Sessions that work are never held and never slowed, however often and however long they answer
// each other.
func TestWorkBetweenMessagesIsNoLoop(t *testing.T) {
	t.Parallel()
	for name, pattern := range map[string]struct {
		n    int
		work func(w *world, all []sessions.Session)
	}{
		"a ring of eight": {8, func(w *world, all []sessions.Session) {
			last := ""
			for i := range 400 {
				s := all[i%8]
				w.works(s)
				r := w.says(s, all[(i+1)%8], mail.Message{InReplyTo: last})
				w.mustPass(fmt.Sprint("message ", i), r)
				last = r.ID
				w.pass(10 * time.Second)
			}
		}},
		"a star whose centre chains replies": {8, func(w *world, all []sessions.Session) {
			last := ""
			for i := range 200 {
				leaf := all[1+i%7]
				w.works(all[0])
				r := w.says(all[0], leaf, mail.Message{InReplyTo: last})
				w.mustPass("from the centre", r)
				w.pass(10 * time.Second)
				w.works(leaf)
				r = w.says(leaf, all[0], mail.Message{InReplyTo: r.ID})
				w.mustPass("to the centre", r)
				w.pass(10 * time.Second)
				last = r.ID
			}
		}},
		"a review by reply for three hours": {2, func(w *world, all []sessions.Session) {
			last := ""
			for i := range 3 * 60 * 3 {
				w.works(all[i%2])
				r := w.says(all[i%2], all[1-i%2], mail.Message{InReplyTo: last, Kind: "review"})
				w.mustPass(fmt.Sprint("message ", i), r)
				last = r.ID
				w.pass(20 * time.Second)
			}
		}},
		"120 questions in an hour": {2, func(w *world, all []sessions.Session) {
			for i := range 120 {
				w.works(all[0])
				q := w.says(all[0], all[1], mail.Message{Kind: "question"})
				w.mustPass(fmt.Sprint("question ", i), q)
				w.pass(15 * time.Second)
				w.works(all[1])
				w.mustPass(fmt.Sprint("answer ", i), w.says(all[1], all[0], mail.Message{InReplyTo: q.ID}))
				w.pass(15 * time.Second)
			}
		}},
		"one of two works": {2, func(w *world, all []sessions.Session) {
			last := ""
			for i := range 300 {
				if i%2 == 0 {
					w.works(all[0])
				}
				r := w.says(all[i%2], all[1-i%2], mail.Message{InReplyTo: last})
				w.mustPass(fmt.Sprint("message ", i), r)
				last = r.ID
				w.pass(20 * time.Second)
			}
		}},
		"many results of one job": {2, func(w *world, all []sessions.Session) {
			w.says(all[1], all[0], mail.Message{Kind: "task"})
			for i := range 200 {
				w.mustPass(fmt.Sprint("result ", i), w.says(all[0], all[1], mail.Message{Kind: "status"}))
			}
		}},
		"a person": {1, func(w *world, all []sessions.Session) {
			me := w.attach(callers.Caller{User: &callers.User{UID: 77, Login: "dana", Terminal: true}})
			last := ""
			for range 100 {
				r := w.says(me, all[0], mail.Message{InReplyTo: last})
				w.mustPass("a person's", r)
				r = w.says(all[0], me, mail.Message{InReplyTo: r.ID})
				w.mustPass("to a person", r)
				last = r.ID
			}
		}},
		"a person's mail between": {2, func(w *world, all []sessions.Session) {
			me := w.attach(callers.Caller{User: &callers.User{UID: 77, Login: "dana", Terminal: true}})
			for i := range 200 {
				if i%40 == 39 {
					w.says(me, all[i%2], mail.Message{})
				}
				w.mustPass(fmt.Sprint("message ", i), w.says(all[i%2], all[1-i%2], mail.Message{}))
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, all := guarded(t, 0, pattern.n)
			pattern.work(w, all)
			for _, s := range all {
				if left := w.waiting(s.ID); len(left) > 0 {
					t.Errorf("%s has not been handed %v", s.Alias, left)
				}
			}
		})
	}
}

// Sessions that only answer each other are stopped, in whatever way they answer.
func TestADeadLoopIsStopped(t *testing.T) {
	t.Parallel()
	for _, n := range []int{2, 3, 8} {
		for name, answer := range map[string]func(i int, last, first string) mail.Message{
			"by reply":                   func(_ int, last, _ string) mail.Message { return mail.Message{InReplyTo: last} },
			"by send":                    func(int, string, string) mail.Message { return mail.Message{} },
			"to the first message":       func(_ int, _, first string) mail.Message { return mail.Message{InReplyTo: first} },
			"by reply and send in turns": func(i int, last, _ string) mail.Message { return []mail.Message{{InReplyTo: last}, {}}[i%2] },
		} {
			t.Run(fmt.Sprintf("%d %s", n, name), func(t *testing.T) {
				t.Parallel()
				w, all := guarded(t, 0, n)
				w.works(all[0]) // once, before it begins
				w.pass(time.Second)
				last, first := "", ""
				for i := range 60 {
					m := answer(i, last, first)
					if i == 0 {
						m = mail.Message{}
					}
					r := w.says(all[i%n], all[(i+1)%n], m)
					if r.Held {
						if i < defaultHops {
							t.Errorf("message %d is held", i+1)
						}
						if left := w.waiting(all[(i+1)%n].ID); len(left) != 2 { // a notice, too
							t.Errorf("waiting are %v", left)
						}
						return
					}
					if first == "" {
						first = r.ID
					}
					last = r.ID
					w.pass(15 * time.Second)
				}
				t.Error("nobody was stopped")
			})
		}
	}
}

// What has stopped one chain stops nothing else.
func TestAnOpenGuardStopsOnlyItsChain(t *testing.T) {
	t.Parallel()
	w, all := guarded(t, 2, 3)
	amber, birch, coral := all[0], all[1], all[2]
	me := w.attach(callers.Caller{User: &callers.User{UID: 77, Login: "dana", Terminal: true}})
	topic := w.says(birch, amber, mail.Message{})
	last, answered := topic, topic
	for _, pair := range [][2]sessions.Session{{amber, birch}, {birch, amber}, {amber, birch}} {
		answered, last = last, w.says(pair[0], pair[1], mail.Message{InReplyTo: last.ID})
	}
	if !last.Held {
		t.Fatalf("receipt %+v", last)
	}
	w.mustPass("to another session", w.says(amber, coral, mail.Message{}))
	w.mustPass("to a person", w.says(amber, me, mail.Message{}))
	claimed := me
	claimed.KnownBy = mail.ByClaim
	w.mustPass("from a claimed person", w.says(claimed, amber, mail.Message{}))
	if _, err := w.Send(t.Context(), amber, mail.Message{To: birch.Alias, Content: "x", InReplyTo: answered.ID}); !errors.Is(err, owed.ErrTooManyAnswers) {
		t.Errorf("behind a claimed person's word: %v", err)
	}
	w.mustPass("from a person", w.says(me, amber, mail.Message{}))
	w.mustPass("behind a person's word", w.says(amber, birch, mail.Message{}))
	q := w.says(coral, birch, mail.Message{Kind: "question"})
	w.mustPass("another one's", q)
	w.mustPass("an answer to another one", w.says(birch, coral, mail.Message{InReplyTo: q.ID}))
	for _, after := range []time.Duration{time.Hour, 7 * 24 * time.Hour} {
		w.pass(after)
		w.mustPass("a fresh topic after "+after.String(), w.says(amber, birch, mail.Message{}))
		w.read(amber.ID)
	}
}

// What is held is told with its time, comes by itself then, and is followed by one message each
// time while nobody works.
func TestWhatIsHeldIsHandedOverAfterSilence(t *testing.T) {
	t.Parallel()
	w, amber, birch, r := heldOnce(t)
	if !strings.Contains(r.Note, "held for 15 min") || !strings.Contains(r.Note, "c2c resume s0 s1") || r.HeldUntil.Sub(w.clock) > guardPause {
		t.Errorf("receipt %+v", r)
	}
	st, err := w.Status(t.Context(), r.ID)
	if err != nil || st.State != sessions.Queued || !st.Held || !st.NotBefore.Equal(r.HeldUntil.UTC()) {
		t.Errorf("status %+v, %v", st, err)
	}
	if _, err := w.Send(t.Context(), amber, mail.Message{To: birch.Alias, Content: "again"}); !errors.Is(err, owed.ErrTooManyAnswers) || !strings.Contains(err.Error(), "held already for 15 min") {
		t.Errorf("a second one: %v", err)
	}
	k := owed.NewChecker(w.Registry)
	if wait := w.look(k); wait <= 0 || wait > guardPause {
		t.Errorf("it is looked for in %v", wait)
	}
	for sid, want := range map[string]string{amber.ID: "You and s1", birch.ID: "You and s0", w.person(): "s0 and s1"} {
		w.wantNotices(sid, want+" have answered each other too often")
	}
	w.read(amber.ID)
	w.read(birch.ID)
	w.pass(guardPause - time.Second)
	w.wantMail(birch.ID)
	before, err := w.box(birch.ID).Stamp()
	if err != nil {
		t.Fatal(err)
	}
	w.pass(time.Second)
	w.look(k)
	if after, err := w.box(birch.ID).Stamp(); err != nil || after == before {
		t.Errorf("nobody is rung for it: %q, %v", after, err)
	}
	w.wantMail(birch.ID, "x")
	w.read(birch.ID)
	w.pass(20 * time.Second)
	if r = w.says(birch, amber, mail.Message{}); !r.Held {
		t.Errorf("the answer without work: %+v", r)
	}
	w.pass(guardPause)
	w.read(amber.ID)
	w.works(amber)
	w.mustPass("the answer with work", w.says(amber, birch, mail.Message{InReplyTo: r.ID}))
	if texts := w.notices(w.person()); len(texts) != 1 {
		t.Errorf("the person was told %q", texts)
	}
}

// An answer that comes after the silence goes through, and the next one without work does not.
func TestOneAnswerGoesThroughAfterSilence(t *testing.T) {
	t.Parallel()
	w, all := guarded(t, 2, 2)
	r := broker.Receipt{}
	for i := range 3 {
		r = w.says(all[i%2], all[1-i%2], mail.Message{InReplyTo: r.ID})
	}
	w.pass(guardPause + time.Second)
	r = w.says(all[1], all[0], mail.Message{InReplyTo: r.ID})
	w.mustPass("the first one", r)
	if r = w.says(all[0], all[1], mail.Message{InReplyTo: r.ID}); !r.Held {
		t.Errorf("the second one: %+v", r)
	}
}

// The hooks of a session that is calm report no work. But its work frees a message that is held.
func TestAHeldMessageEndsTheCalmOfItsReceiver(t *testing.T) {
	t.Parallel()
	w, all := guarded(t, 2, 2)
	amber, birch := all[0], all[1]
	r := w.says(birch, amber, mail.Message{})
	r = w.says(amber, birch, mail.Message{InReplyTo: r.ID})
	r = w.says(birch, amber, mail.Message{InReplyTo: r.ID})
	w.works(birch)
	if err := sessions.MarkCalm(w.Registry, birch); err != nil || !sessions.IsCalm(w.Registry, birch.ID) {
		t.Fatalf("it has worked, and is not calm: %v", err)
	}
	if err := sessions.MarkCalm(w.Registry, amber); err != nil || sessions.IsCalm(w.Registry, amber.ID) {
		t.Fatalf("it was handed mail, and is calm: %v", err)
	}
	if r = w.says(amber, birch, mail.Message{InReplyTo: r.ID}); !r.Held {
		t.Errorf("receipt %+v", r)
	}
	if sessions.IsCalm(w.Registry, birch.ID) {
		t.Error("its work would not be seen")
	}
}

// When somebody works, what is held comes at once: what its sender writes then must not overtake
// it.
func TestWorkFreesWhatIsHeld(t *testing.T) {
	t.Parallel()
	for name, who := range map[string]int{"of the sender": 0, "of the receiver": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, amber, birch, r := heldOnce(t)
			w.read(birch.ID)
			w.works([]sessions.Session{amber, birch}[who])
			w.mustPass("the next one", w.reply(amber, birch, mail.Message{InReplyTo: "01890a5d-ac96-774b-bcce-b302099a8057"}))
			if waiting := w.waiting(birch.ID); len(waiting) < 1 || waiting[0].ID != r.ID {
				t.Errorf("waiting are %v", waiting)
			}
			if st, err := w.Status(t.Context(), r.ID); err != nil || st.Held {
				t.Errorf("status %+v, %v", st, err)
			}
		})
	}
}

// reply sends, and nobody reads.
func (w *world) reply(from, to sessions.Session, m mail.Message) broker.Receipt {
	w.t.Helper()
	w.works(from)
	m.To, m.Content = to.Alias, "y"
	r, err := w.Send(w.t.Context(), from, m)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// A person's word hands over what is held, has the session rung, and lets both go on.
func TestAPersonLetsThemGoOn(t *testing.T) {
	t.Parallel()
	w, amber, birch, _ := heldOnce(t)
	w.read(birch.ID)
	before, err := w.box(birch.ID).Stamp()
	if err != nil {
		t.Fatal(err)
	}
	w.pass(time.Second)
	if held, err := broker.Resume(t.Context(), w.Registry, "S1", "s0"); err != nil || held != 1 {
		t.Errorf("resumed %d, %v", held, err)
	}
	if after, err := w.box(birch.ID).Stamp(); err != nil || after == before {
		t.Errorf("nothing tells of it: %q, %v", after, err)
	}
	w.wantMail(birch.ID, "x")
	w.read(birch.ID)
	w.mustPass("the answer", w.says(birch, amber, mail.Message{}))
	w.mustPass("the next one", w.says(amber, birch, mail.Message{}))
}

func (w *world) last(sid string) mail.Message {
	all := append(w.waiting(sid), mail.Message{})
	for _, m := range all {
		if m.Held != "" {
			return m
		}
	}
	return mail.Message{}
}

// Work of a time to come is of a clock that was wrong, and hides no work that comes now.
func TestWorkOfTheFutureCountsForNothing(t *testing.T) {
	t.Parallel()
	w, all := guarded(t, 2, 2)
	w.pass(time.Hour)
	w.works(all[0])
	w.works(all[1])
	w.pass(-time.Hour)
	r := broker.Receipt{}
	for i := range 4 {
		r = w.says(all[i%2], all[1-i%2], mail.Message{InReplyTo: r.ID})
	}
	if !r.Held {
		t.Errorf("receipt %+v", r)
	}
	w.works(all[0])
	if !sessions.WorkOf(w.Registry, all[0].ID).Since(w.clock) {
		t.Error("it hides work that comes now")
	}
}

// A time in the file may be anything: mail that is held or slowed comes in the end.
func TestMailThatIsKeptBackComes(t *testing.T) {
	t.Parallel()
	w, all := guarded(t, 0, 2)
	now := mail.Seconds(w.clock)
	for _, m := range []mail.Message{
		{Content: "held for ever", Held: all[0].ID, NotBefore: now + 30*86400, TS: now - 2000}, {Content: "held now", Held: all[0].ID, NotBefore: now + 30*86400, TS: now},
		{Content: "slowed", NotBefore: now + 30, TS: now}, {Content: "slowed by a wrong clock", NotBefore: now + 30*86400, TS: now},
		{Content: "sent by a wrong clock", NotBefore: now + 30*86400, TS: now + 30*86400 - 60},
	} {
		m.From, m.To = all[0].Alias, all[1].Alias
		if _, err := w.box(all[1].ID).Deliver(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	w.wantMail(all[1].ID, "held for ever", "sent by a wrong clock")
	w.pass(31 * time.Second)
	w.wantMail(all[1].ID, "held for ever", "slowed", "sent by a wrong clock")
	w.pass(guardPause)
	w.wantMail(all[1].ID, "held for ever", "held now", "slowed", "slowed by a wrong clock", "sent by a wrong clock")
}

// Clients that tell of no tool calls may go on for longer, but not for ever.
func TestClientsThatTellOfNoWorkHaveALongerWay(t *testing.T) {
	t.Parallel()
	w := newWorldOf(t, broker.Config{Hops: 3})
	all := []sessions.Session{w.register("amber", callers.Caller{Client: "gem", ClientID: "a", PID: w.pid(10)}), w.register("birch", callers.Caller{Client: "gem", ClientID: "b", PID: w.pid(20)})}
	r := broker.Receipt{}
	for i := range 3*blindTimes + 1 {
		r = w.says(all[i%2], all[1-i%2], mail.Message{InReplyTo: r.ID})
		w.mustPass(fmt.Sprint("message ", i), r)
	}
	if r = w.says(all[1], all[0], mail.Message{InReplyTo: r.ID}); !r.Held {
		t.Errorf("receipt %+v", r)
	}
}

// Whoever holds a message may be killed before it has told anybody.
func TestTheCheckerTellsOfWhatIsHeld(t *testing.T) {
	t.Parallel()
	w, all := guarded(t, 2, 2)
	now := mail.Seconds(w.clock)
	m := mail.Message{From: "s0", To: "s1", Content: "x", Held: all[0].ID, NotBefore: now + guardPause.Seconds(), GuardChain: "chain", GuardHops: 3}
	if _, err := w.box(all[1].ID).Deliver(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	w.look(owed.NewChecker(w.Registry))
	w.look(owed.NewChecker(w.Registry))
	w.wantNotices(all[1].ID, "You and s0")
	w.wantNotices(w.person(), "s0 and s1")
}

// A sender that repeats a message stores nothing more, so nothing more is refused. What would
// expire first, or is not stored, is not held.
func TestWhatIsHeldAndRepeatedIsHeldOnce(t *testing.T) {
	t.Parallel()
	w, all := guarded(t, 2, 2)
	amber, birch := all[0], all[1]
	for i := range 3 {
		w.says([]sessions.Session{birch, amber}[i%2], []sessions.Session{amber, birch}[i%2], mail.Message{})
	}
	m := mail.Message{To: birch.Alias, Content: "x", ExpiresAt: mail.Seconds(w.clock.Add(time.Minute))}
	if _, err := w.Send(t.Context(), amber, m); !errors.Is(err, owed.ErrTooManyAnswers) || !strings.Contains(err.Error(), "expire before") {
		t.Errorf("what expires: %v", err)
	}
	m = mail.Message{To: birch.Alias, Content: strings.Repeat("x", 1<<20)}
	if _, err := w.Send(t.Context(), amber, m); !errors.Is(err, mail.ErrTooLarge) {
		t.Errorf("what is too large: %v", err)
	}
	for i := range 3 {
		if r := w.says(amber, birch, mail.Message{ID: "once"}); r.Duplicate != (i > 0) || r.Held == r.Duplicate {
			t.Errorf("receipt %+v", r)
		}
	}
	if held, err := broker.Resume(t.Context(), w.Registry, "s0", "s1"); err != nil || held != 1 {
		t.Errorf("resumed %d, %v", held, err)
	}
}

// A ring tells of what may be handed over, and of nothing else.
func TestWhatIsHeldIsNotRung(t *testing.T) {
	t.Parallel()
	w, _, birch, r := heldOnce(t)
	w.rang(birch.ID, wake.Ring{At: w.clock, Method: wake.BySocket, Outcome: wake.Rang})
	if st, err := w.Status(t.Context(), r.ID); err != nil || st.State != sessions.Queued || !st.Held || strings.Contains(st.Sentence(), "rang") {
		t.Errorf("held: %+v, %v", st, err)
	}
	w.pass(guardPause)
	w.rang(birch.ID, wake.Ring{At: w.clock, Method: wake.BySocket, Outcome: wake.Rang})
	if st, err := w.Status(t.Context(), r.ID); err != nil || st.State != sessions.Rung || st.Held {
		t.Errorf("held no more: %+v, %v", st, err)
	}
}

// Only the guard holds, whatever the sender's program or a file says.
func TestASenderHoldsNothingItself(t *testing.T) {
	t.Parallel()
	w, amber, birch := pair(t)
	m := mail.Message{To: "birch", Content: "x", Held: amber.ID, NotBefore: mail.Seconds(w.clock.Add(time.Hour)), GuardHops: 1e9, GuardChain: "../x"}
	if _, err := w.Send(t.Context(), amber, m); err != nil {
		t.Fatal(err)
	}
	all := w.waiting(birch.ID)
	if len(all) != 1 || all[0].Held != "" || all[0].NotBefore != 0 || all[0].GuardHops != 0 || all[0].GuardChain != "" {
		t.Errorf("%+v", all)
	}
	// A file of a hostile writer.
	m.From, m.ID = "amber", "hostile"
	if _, err := w.box(birch.ID).Deliver(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	w.pass(guardPause)
	w.wantMail(birch.ID, "x", "x")
	w.read(birch.ID)
	w.mustPass("another one", w.says(birch, w.register("coral", callers.Caller{Client: "gem", ClientID: "c", PID: w.pid(30)}), mail.Message{}))
	if r := w.says(birch, amber, mail.Message{}); !r.Held || len(mail.ShortID(w.last(amber.ID).GuardChain)) == 0 {
		t.Errorf("receipt %+v", r)
	}
}

// The clock was wrong, and was set right: nothing is hidden for longer than c2c hides it, and
// nobody is judged by such times.
func TestAWrongClockHoldsNobody(t *testing.T) {
	t.Parallel()
	for name, off := range map[string]time.Duration{"ahead": 30 * 24 * time.Hour, "behind": -30 * 24 * time.Hour, "a second ahead": time.Second} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, all := guarded(t, 2, 2)
			amber, birch := all[0], all[1]
			w.pass(off)
			r := broker.Receipt{}
			for i := range 4 {
				r = w.says(all[i%2], all[1-i%2], mail.Message{InReplyTo: r.ID})
			}
			if !r.Held {
				t.Fatalf("receipt %+v", r)
			}
			w.pass(-off)
			w.read(amber.ID)
			if off != time.Second {
				w.mustPass("an answer to what came from there", w.says(birch, amber, mail.Message{}))
			}
			w.pass(2*time.Second + guardPause)
			w.read(amber.ID)
			if left := w.waiting(amber.ID); len(left) > 0 {
				t.Errorf("hidden are %v", left)
			}
			// A dead loop is found as before.
			for i := range 3 {
				r = w.says(all[i%2], all[1-i%2], mail.Message{})
				w.pass(time.Second)
			}
			if r := w.says(birch, amber, mail.Message{}); !r.Held || w.last(amber.ID).Held == "" {
				t.Errorf("a loop behind it is not held: %+v", r)
			}
		})
	}
}

func TestALimitThatIsSwitchedOffHoldsNobody(t *testing.T) {
	t.Parallel()
	w, all := guarded(t, 0, 2)
	w.cfg.Hops = owed.LimitOf(func(string) string { return " 0" }, owed.HopsVariable)
	w.reopen()
	r := broker.Receipt{}
	for i := range 200 {
		r = w.says(all[i%2], all[1-i%2], mail.Message{InReplyTo: r.ID})
		w.mustPass(fmt.Sprint("message ", i), r)
	}
	if l := owed.LimitOf(func(string) string { return "many" }, owed.HopsVariable); l != 0 {
		t.Errorf("limit of what is no number: %+v", l)
	}
}
