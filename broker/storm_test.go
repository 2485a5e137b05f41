package broker

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"c2c/inbox"
	"c2c/wake"
)

// stormy is amber and birch in a root with narrow limits.
func stormy(t *testing.T, l StormLimits) (w *world, amber, birch Session) {
	w, amber, birch = pair(t)
	w.storm = l.withDefaults()
	return w, amber, birch
}

// heldOnce is stormy after two answers, of which the second one is held.
func heldOnce(t *testing.T) (w *world, amber, birch Session) {
	t.Helper()
	w, amber, birch = stormy(t, StormLimits{Answers: 1})
	w.reply(birch, amber, inbox.Message{})
	if r := w.reply(amber, birch, inbox.Message{}); !r.Held {
		t.Fatalf("receipt %+v", r)
	}
	return w, amber, birch
}

// reply sends, and lets the receiver read what it may; it gives the receipt and what was read.
func (w *world) reply(from Session, to Session, m inbox.Message) Receipt {
	w.t.Helper()
	m.To, m.Content = to.Alias, "x"
	r, err := w.Send(w.t.Context(), from, m)
	if err != nil {
		w.t.Fatal(err)
	}
	w.pass(time.Millisecond)
	return r
}

func (w *world) person() string { return fmt.Sprintf("person-%d", os.Getuid()) }

// Two that answer each other are slowed from half of the limit on, then stopped. Each person is told once, and one word
// lets them go on, with what was held.
func TestAStormIsSlowedThenStoppedUntilAPersonLetsItGoOn(t *testing.T) {
	t.Parallel()
	w, amber, birch := stormy(t, StormLimits{Answers: 6})
	sides := [2]Session{amber, birch}
	for i := range 6 {
		r := w.reply(sides[i%2], sides[1-i%2], inbox.Message{})
		if slow := i >= 3; r.Held || slow != (r.Note != "") {
			t.Errorf("message %d: %+v", i+1, r)
		}
		w.read(sides[1-i%2].ID)
	}
	waiting, err := w.box(birch.ID).PeekAll(t.Context())
	if err != nil || len(waiting) != 1 || waiting[0].NotBefore == 0 {
		t.Errorf("slowed and not read yet: %v, %v", waiting, err)
	}
	if wait := w.look(w.Keeper()); wait <= 0 || wait > 2*time.Second {
		t.Errorf("it is handed over in %v", wait)
	}
	w.pass(3 * time.Second)
	w.read(amber.ID)
	w.read(birch.ID)
	r := w.reply(amber, birch, inbox.Message{})
	if !r.Held || !strings.Contains(r.Note, "c2c resume amber birch") {
		t.Errorf("receipt %+v", r)
	}
	if st, err := w.Status(t.Context(), r.ID); err != nil || st.State != Queued || !st.Held {
		t.Errorf("status %+v, %v", st, err)
	}
	if again := w.reply(birch, amber, inbox.Message{}); !again.Held {
		t.Errorf("the other side's %+v", again)
	}
	for sid, want := range map[string]string{amber.ID: "You and birch", birch.ID: "You and amber", w.person(): "amber and birch"} {
		w.wantNotices(sid, want+" have answered each other too often")
	}
	w.pass(24 * time.Hour)
	w.look(w.Keeper())
	w.read(birch.ID)
	w.read(amber.ID)
	if left, err := w.box(birch.ID).PeekAll(t.Context()); err != nil || len(left) != 1 {
		t.Errorf("held for a day: %v, %v", left, err)
	}
	if held, err := w.Resume(t.Context(), "Birch", "amber"); err != nil || held != 2 {
		t.Errorf("resumed %d, %v", held, err)
	}
	w.wantMail(birch.ID, "x")
	w.wantMail(amber.ID, "x")
	w.pass(time.Millisecond)
	if r := w.reply(birch, amber, inbox.Message{}); r.Note != "" {
		t.Errorf("the first one behind: %+v", r)
	}
	if texts := w.notices(w.person()); len(texts) != 1 {
		t.Errorf("the person was told %q", texts)
	}
}

// Of a side that goes on all the same a few messages are held, and the others refused.
func TestNoMoreThanAFewAreHeld(t *testing.T) {
	t.Parallel()
	w, amber, birch := stormy(t, StormLimits{Answers: 1})
	if r := w.reply(birch, amber, inbox.Message{}); !strings.Contains(r.Note, "have answered each other once without a person") {
		t.Errorf("receipt %+v", r)
	}
	for range maxHeld {
		w.reply(amber, birch, inbox.Message{})
	}
	_, err := w.Send(t.Context(), amber, inbox.Message{To: "birch", Content: "x"})
	if !errors.Is(err, ErrStorm) || !strings.Contains(err.Error(), "c2c resume amber birch") {
		t.Errorf("error %v", err)
	}
	if all, err := w.box(birch.ID).PeekAll(t.Context()); err != nil || len(all) != maxHeld+1 { // and the notice
		t.Errorf("%v, %v", all, err)
	}
}

func TestHonestWorkIsNoStorm(t *testing.T) {
	t.Parallel()
	for name, work := range map[string]func(w *world, amber, birch Session) []Receipt{
		"many messages that nobody answers": func(w *world, amber, birch Session) (all []Receipt) {
			for range 200 {
				all = append(all, w.reply(amber, birch, inbox.Message{Deferrable: true}))
			}
			return all
		},
		"an answer a minute for hours": func(w *world, amber, birch Session) (all []Receipt) {
			for range 4 * 60 / 2 {
				all = append(all, w.reply(amber, birch, inbox.Message{}))
				w.pass(time.Minute)
				all = append(all, w.reply(birch, amber, inbox.Message{}))
				w.pass(time.Minute + time.Second)
				w.read(amber.ID)
				w.read(birch.ID)
			}
			return all
		},
		"a long thread with work in between": func(w *world, amber, birch Session) (all []Receipt) {
			m := inbox.Message{}
			for range 100 {
				m.InReplyTo = w.reply(amber, birch, m).ID
				w.pass(16 * time.Minute)
				r := w.reply(birch, amber, m)
				m.InReplyTo, all = r.ID, append(all, r)
				w.pass(time.Minute)
				w.read(amber.ID)
				w.read(birch.ID)
			}
			return all
		},
		"a person": func(w *world, amber, _ Session) (all []Receipt) {
			me := w.attach(Caller{User: &User{UID: 77, Login: "dana", Terminal: true}})
			for range 150 {
				all = append(all, w.reply(me, amber, inbox.Message{}), w.reply(amber, me, inbox.Message{}))
			}
			return all
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, amber, birch := stormy(t, StormLimits{})
			for _, r := range work(w, amber, birch) {
				if r.Held || strings.Contains(r.Note, "without a person") {
					t.Fatalf("receipt %+v", r)
				}
			}
		})
	}
}

// Three that answer in a ring never answer each other: the hops of the messages tell.
func TestARingOfThreeIsStopped(t *testing.T) {
	t.Parallel()
	w, amber, birch := stormy(t, StormLimits{Hops: 8})
	coral := w.register("coral", Caller{Client: "gem", ClientID: "c", PID: 30})
	ring := [3]Session{amber, birch, coral}
	id := ""
	var ids []string
	for i := range 9 {
		r := w.reply(ring[i%3], ring[(i+1)%3], inbox.Message{InReplyTo: id})
		id = r.ID
		ids = append(ids, id)
		if held := i == 8; r.Held != held || (i >= 4) != (r.Note != "") {
			t.Errorf("message %d: %+v", i+1, r)
		}
	}
	if _, err := w.Resume(t.Context(), "coral", "amber"); err != nil {
		t.Fatal(err)
	}
	w.pass(time.Minute)                                                             // nothing that was slowed waits any more
	if r := w.reply(amber, birch, inbox.Message{InReplyTo: ids[5]}); r.Note != "" { // what coral sent it before
		t.Errorf("behind a person's word: %+v", r)
	}
}

func TestLimitsThatAreSwitchedOffHoldNobody(t *testing.T) {
	t.Parallel()
	off := StormLimitsOf(func(name string) string {
		return map[string]string{StormAnswersVariable: "0", StormHopsVariable: " 0"}[name]
	})
	w, amber, birch := stormy(t, off)
	id := ""
	for range 200 {
		id = w.reply(amber, birch, inbox.Message{InReplyTo: id, Deferrable: true}).ID
		r := w.reply(birch, amber, inbox.Message{InReplyTo: id, Deferrable: true})
		if id = r.ID; r.Note != "" {
			t.Fatalf("receipt %+v", r)
		}
	}
	if l := StormLimitsOf(func(string) string { return "many" }).withDefaults(); l != (StormLimits{stormAnswers, stormHops}) {
		t.Errorf("limits of what is no number: %+v", l)
	}
}

// A sender that is killed behind the ledger, or behind the message, holds nothing for ever and keeps nobody in the dark.
func TestASenderThatIsKilledWhileItHoldsAMessageLeavesNothingHalf(t *testing.T) {
	t.Parallel()
	for name, kill := range map[string]func(w *world, from Session, to row) error{
		"behind the ledger": func(w *world, from Session, to row) error {
			_, err := w.judge(w.t.Context(), from, to, w.box(to.sid()), &inbox.Message{To: "birch", Content: "x"})
			return err
		},
		"behind the message": func(w *world, from Session, to row) error {
			m := inbox.Message{From: "amber", To: "birch", Content: "x"}
			if _, err := w.judge(w.t.Context(), from, to, w.box(to.sid()), &m); err != nil {
				return err
			}
			_, err := w.box(to.sid()).Deliver(w.t.Context(), m)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, amber, birch := stormy(t, StormLimits{Answers: 1})
			w.reply(birch, amber, inbox.Message{})
			rows, err := w.rows(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := kill(w, amber, rows[findSID(rows, birch.ID)]); err != nil {
				t.Fatal(err)
			}
			w.look(w.Keeper())
			if name == "behind the message" {
				w.wantNotices(birch.ID, "You and amber")
				w.wantMail(birch.ID, w.notices(birch.ID)...) // and nothing else
			}
			w.pass(time.Second)
			if r := w.reply(amber, birch, inbox.Message{}); !r.Held {
				t.Errorf("receipt %+v", r)
			}
			w.wantNotices(w.person(), "amber and birch")
			if _, err := w.Resume(t.Context(), "amber", "birch"); err != nil {
				t.Fatal(err)
			}
			if left, err := w.box(birch.ID).Peek(t.Context()); err != nil || len(left) < 2 {
				t.Errorf("handed over are %v, %v", left, err)
			}
		})
	}
}

// A ledger does not grow, whoever writes to the session, and what is held stays held.
func TestALedgerIsTurnedAndForgetsNoHold(t *testing.T) {
	t.Parallel()
	w, amber, birch := stormy(t, StormLimits{Answers: 1})
	w.reply(birch, amber, inbox.Message{})
	w.reply(amber, birch, inbox.Message{})
	coral := w.register("coral", Caller{Client: "gem", ClientID: "c", PID: 30})
	for range 3 {
		for range ledgerMax / 60 {
			if err := w.enter(birch.ID, entry{w.clock.UnixMilli(), sentMark, 1, coral.ID, "message"}); err != nil {
				t.Fatal(err)
			}
		}
		w.reply(coral, birch, inbox.Message{})
	}
	for _, name := range []string{ledgerName(birch.ID), olderName(birch.ID)} {
		info, err := os.Stat(filepath.Join(w.Root(), ledgerDir, name))
		if err != nil || info.Size() > 2*ledgerMax {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	if !w.held(birch.ID, inbox.Message{Held: amber.ID, TS: inbox.Seconds(w.clock)}) {
		t.Error("what was held is free")
	}
	if r := w.reply(birch, amber, inbox.Message{}); !r.Held {
		t.Errorf("receipt %+v", r)
	}
}

// A sender that repeats a message stores nothing more, so nothing more is held or refused.
func TestWhatIsHeldAndRepeatedIsHeldOnce(t *testing.T) {
	t.Parallel()
	w, amber, birch := stormy(t, StormLimits{Answers: 1})
	w.reply(amber, birch, inbox.Message{})
	w.reply(birch, amber, inbox.Message{})
	for i := range 2 * maxHeld {
		if r := w.reply(amber, birch, inbox.Message{ID: "once"}); r.Duplicate != (i > 0) {
			t.Errorf("receipt %+v", r)
		}
	}
	if r := w.reply(amber, birch, inbox.Message{}); !r.Held {
		t.Errorf("another one: %+v", r)
	}
	if held, err := w.Resume(t.Context(), "amber", "birch"); err != nil || held != 3 {
		t.Errorf("resumed %d, %v", held, err)
	}
}

// A ring tells of what may be handed over, and of nothing else.
func TestWhatIsHeldOrSlowedIsNotRung(t *testing.T) {
	t.Parallel()
	w, amber, birch := stormy(t, StormLimits{Answers: 2})
	w.reply(amber, birch, inbox.Message{})
	slowed := w.reply(birch, amber, inbox.Message{})
	held := w.reply(amber, birch, inbox.Message{})
	if !held.Held {
		t.Fatalf("receipt %+v", held)
	}
	for _, s := range []Session{amber, birch} {
		w.rang(s.ID, wake.Ring{At: w.clock, Method: wake.BySocket, Outcome: wake.Rang})
	}
	if st, err := w.Status(t.Context(), slowed.ID); err != nil || st.State != Queued || st.NotBefore.IsZero() {
		t.Errorf("slowed: %+v, %v", st, err)
	}
	if st, err := w.Status(t.Context(), held.ID); err != nil || st.State != Queued || !st.Held || strings.Contains(st.Sentence(), "rang") {
		t.Errorf("held: %+v, %v", st, err)
	}
	w.pass(time.Minute)
	w.rang(amber.ID, wake.Ring{At: w.clock, Method: wake.BySocket, Outcome: wake.Rang})
	if st, err := w.Status(t.Context(), slowed.ID); err != nil || st.State != Rung {
		t.Errorf("slowed no more: %+v, %v", st, err)
	}
}

// A slowed answer is not overtaken by what its sender writes behind it.
func TestASlowedMessageIsNotOvertaken(t *testing.T) {
	t.Parallel()
	w, amber, birch := stormy(t, StormLimits{Hops: 10})
	last, sides := Receipt{}, [2]Session{amber, birch}
	for i := range 8 {
		last = w.reply(sides[i%2], sides[1-i%2], inbox.Message{InReplyTo: last.ID})
	}
	w.pass(time.Minute)
	w.read(amber.ID)
	w.read(birch.ID)
	for _, m := range []inbox.Message{{Content: "one", InReplyTo: last.ID}, {Content: "two"}} {
		m.To = "birch"
		if r, err := w.Send(t.Context(), amber, m); err != nil || !strings.Contains(r.Note, "9 times without a person: it is handed over in 4 s") {
			t.Errorf("receipt %+v, %v", r, err)
		}
	}
	w.wantMail(birch.ID)
	w.pass(5 * time.Second)
	w.wantMail(birch.ID, "one", "two")
	if r, err := w.Send(t.Context(), amber, inbox.Message{To: "birch", Content: "three"}); err != nil || r.Note != "" {
		t.Errorf("receipt %+v, %v", r, err)
	}
}

// Whoever sets the clock back does not take the person's word away.
func TestOneWordLetsThemGoOnWhateverTheClockSays(t *testing.T) {
	t.Parallel()
	w, amber, birch := stormy(t, StormLimits{Answers: 1})
	w.reply(birch, amber, inbox.Message{})
	w.read(amber.ID)
	if r := w.reply(amber, birch, inbox.Message{}); !r.Held {
		t.Fatalf("receipt %+v", r)
	}
	w.pass(-time.Hour)
	if held, err := w.Resume(t.Context(), "amber", "birch"); err != nil || held != 1 {
		t.Errorf("resumed %d, %v", held, err)
	}
	w.wantMail(birch.ID, append([]string{"x"}, w.notices(birch.ID)...)...)
	if r := w.reply(birch, amber, inbox.Message{}); r.Held {
		t.Errorf("receipt %+v", r)
	}
}

// What could not be stored is not held.
func TestWhatIsNotStoredIsNotHeld(t *testing.T) {
	t.Parallel()
	w, amber, birch := stormy(t, StormLimits{Answers: 1})
	w.reply(birch, amber, inbox.Message{})
	for range maxHeld + 1 {
		_, err := w.Send(t.Context(), amber, inbox.Message{To: "birch", Content: strings.Repeat("x", 1<<20)})
		if !errors.Is(err, inbox.ErrTooLarge) {
			t.Errorf("error %v", err)
		}
	}
	if r := w.reply(amber, birch, inbox.Message{}); !r.Held {
		t.Errorf("receipt %+v", r)
	}
	if held, err := w.Resume(t.Context(), "amber", "birch"); err != nil || held != 1 {
		t.Errorf("resumed %d, %v", held, err)
	}
	w.wantMail(birch.ID, append([]string{"x"}, w.notices(birch.ID)...)...)
}

func TestAMessageIsSlowedByAMinuteAtMost(t *testing.T) {
	t.Parallel()
	w, amber, birch := stormy(t, StormLimits{Answers: 400})
	sides := [2]Session{amber, birch}
	for i := range 300 {
		w.reply(sides[i%2], sides[1-i%2], inbox.Message{Deferrable: true})
	}
	all, err := w.box(amber.ID).PeekAll(t.Context())
	if last := all[len(all)-1]; err != nil || last.NotBefore == 0 || last.NotBefore > last.TS+maxSlow.Seconds() {
		t.Errorf("sent at %f, handed over at %f; %v", last.TS, last.NotBefore, err)
	}
}

// Only a storm holds or slows, whatever the sender's program says.
func TestASenderHoldsNothingItself(t *testing.T) {
	t.Parallel()
	w, amber, birch := pair(t)
	m := inbox.Message{To: "birch", Content: "x", Held: amber.ID, NotBefore: inbox.Seconds(w.clock.Add(time.Hour))}
	if _, err := w.Send(t.Context(), amber, m); err != nil {
		t.Fatal(err)
	}
	w.wantMail(birch.ID, "x")
	if all, err := w.box(birch.ID).PeekAll(t.Context()); err != nil || all[0].Held != "" || all[0].NotBefore != 0 {
		t.Errorf("%+v, %v", all, err)
	}
}

// Whoever rings must look again, and what cannot be looked up is not handed over.
func TestWhatWasHeldIsRungForAndAnUnreadableLedgerHolds(t *testing.T) {
	t.Parallel()
	w, _, birch := heldOnce(t)
	path := filepath.Join(w.Root(), ledgerDir, ledgerName(birch.ID))
	if err := errors.Join(os.Rename(path, path+"-kept"), os.Mkdir(path, 0o700)); err != nil {
		t.Fatal(err)
	}
	w.wantMail(birch.ID, w.notices(birch.ID)...)
	if err := errors.Join(os.Remove(path), os.Rename(path+"-kept", path)); err != nil {
		t.Fatal(err)
	}
	before, err := w.box(birch.ID).Stamp()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Resume(t.Context(), "amber", "birch"); err != nil {
		t.Fatal(err)
	}
	if after, err := w.box(birch.ID).Stamp(); err != nil || after == before {
		t.Errorf("nothing tells of it: %q, %v", after, err)
	}
}
