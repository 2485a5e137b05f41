package broker_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"testing"
	"time"

	"c2c/broker"
	"c2c/broker/moves"
	"c2c/broker/owed"
	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
	"c2c/sessions"
	"c2c/sessions/callers"
	"c2c/wake"
)

func TestSendTellsWhatItKnows(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	amber := w.register("amber", callers.Caller{Client: "claude", ClientID: "a", PID: w.pid(10)})
	birch := w.register("Birch", callers.Caller{Client: "claude", ClientID: "b", PID: w.pid(20)})
	r := w.send(amber, "birch", "one")
	if r.To != "Birch" || r.From != "amber" || r.Recipient != sessions.Alive || r.Duplicate || r.ID == "" {
		t.Errorf("receipt %+v", r)
	}
	w.ends(20)
	if r := w.send(amber, "birch", "two"); r.Recipient != sessions.Absent {
		t.Errorf("receiver is %s, want absent", r.Recipient)
	}
	w.wantMail(birch.ID, "one", "two")

	_, err := w.Send(ctx, amber, mail.Message{To: "AMBER", Content: "x"})
	if !errors.Is(err, sessions.ErrSelfSend) {
		t.Errorf("to oneself: %v", err)
	}
	_, err = w.Send(ctx, amber, mail.Message{To: "brich", Content: "x"})
	var unknown *sessions.UnknownAliasError
	if !errors.As(err, &unknown) || !reflect.DeepEqual(unknown.Closest, []string{"Birch"}) {
		t.Errorf("to brich: %v, closest %v", err, unknown)
	}
}

func TestRepeatedSendIsStoredOnce(t *testing.T) {
	w := newWorld(t)
	amber, birch := w.register("amber", callers.Caller{PID: w.pid(10)}), w.register("birch", callers.Caller{PID: w.pid(20)})
	for i := range 2 {
		r, err := w.Send(context.Background(), amber, mail.Message{To: "birch", Content: "x", ID: "id-1"})
		if err != nil || r.Duplicate != (i == 1) || r.ID != "id-1" {
			t.Errorf("send %d: %+v, %v", i, r, err)
		}
	}
	w.wantMail(birch.ID, "x")
}

func TestSendAllSkipsAndSaysWhy(t *testing.T) {
	w := newWorld(t)
	amber := w.register("amber", callers.Caller{PID: w.pid(10)})
	w.register("birch", callers.Caller{PID: w.pid(20)})
	w.register("cedar", callers.Caller{PID: w.pid(30)})
	dune := w.register("dune", callers.Caller{Explicit: "dune"})
	w.ends(30)
	sent, skipped, err := w.SendAll(context.Background(), amber, mail.Message{Content: "hi"}, "Birch")
	if err != nil || len(sent) != 1 || sent[0].To != "dune" {
		t.Errorf("sent %+v, %v", sent, err)
	}
	if want := []broker.Skipped{{Alias: "birch", Reason: "excluded"}, {Alias: "cedar", Reason: "absent"}}; !reflect.DeepEqual(skipped, want) {
		t.Errorf("skipped %v, want %v", skipped, want)
	}
	w.wantMail(dune.ID, "hi")
}

func TestTakeoverNeedsAnAbsentHolderAndMovesTheMail(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	amber, birch := w.register("amber", callers.Caller{PID: w.pid(10)}), w.register("birch", callers.Caller{PID: w.pid(20)})
	r := w.send(amber, "birch", "for birch")
	_, err := w.Register(ctx, callers.Caller{PID: w.pid(30)}, "BIRCH")
	var taken *sessions.AliasTakenError
	if !errors.As(err, &taken) || taken.Alias != birch.Alias || taken.Suggested != "BIRCH-2" {
		t.Fatalf("alive holder: %v", err)
	}
	w.ends(20)
	heir := w.register("BIRCH", callers.Caller{PID: w.pid(30)})
	w.wantMail(heir.ID, "for birch")
	w.wantMail(birch.ID)
	if st, err := w.Status(ctx, r.ID); err != nil || st.State != sessions.Queued || st.SessionID != heir.ID {
		t.Errorf("status %+v, %v", st, err)
	}
}

func TestAliasRules(t *testing.T) {
	for _, s := range []string{"a", "A.b_c-9", "_x"} {
		if err := sessions.CheckAlias(s); err != nil {
			t.Errorf("%q: %v", s, err)
		}
	}
	for _, s := range []string{"", ".a", "-x", "--x", "a b", "a/b", "é", "a.", "c2c", "C2C-System", "broker", string(make([]byte, 65))} {
		if sessions.CheckAlias(s) == nil {
			t.Errorf("%q is accepted", s)
		}
	}
}

func TestStatusFollowsAMessage(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	amber, birch := w.register("amber", callers.Caller{PID: w.pid(10)}), w.register("birch", callers.Caller{PID: w.pid(20)})
	r := w.send(amber, "birch", "x")
	want := func(state, by string) {
		t.Helper()
		if st, err := w.Status(ctx, r.ID); err != nil || st.State != state || st.By != by {
			t.Errorf("status %+v, %v; want %s by %q", st, err, state, by)
		}
	}
	want(sessions.Queued, "")
	if err := w.Rang(ctx, birch.ID, wake.Ring{At: w.clock.Add(time.Second), Method: "socket", Outcome: "rang", Oldest: r.ID}); err != nil {
		t.Fatal(err)
	}
	want(sessions.Rung, "socket")
	box, _ := w.Mailbox(birch.ID)
	lease, err := box.Lease(ctx, "hook", 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	want(sessions.Handed, "hook")
	if err := lease.Ack(ctx, inbox.Handles(lease.Messages)...); err != nil {
		t.Fatal(err)
	}
	want(sessions.Read, "hook")
	if _, err := w.Status(ctx, "nothing"); !errors.Is(err, broker.ErrNoMessage) {
		t.Errorf("unknown id: %v", err)
	}
}

// The client has it, and keeps it until its person has decided: the model may never get it.
func TestWhatAClientHoldsIsQueued(t *testing.T) {
	w := newWorld(t)
	amber, birch := w.register("amber", callers.Caller{PID: w.pid(10)}), w.register("birch", callers.Caller{PID: w.pid(20)})
	r := w.send(amber, "birch", "x")
	box, _ := w.Mailbox(birch.ID)
	lease, err := box.Lease(t.Context(), "socket", 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	for outcome, want := range map[string]string{wake.Held: sessions.Queued, wake.Uncaptured: sessions.Handed} {
		if err := w.Rang(t.Context(), birch.ID, wake.Ring{At: w.clock.Add(time.Second), Method: "socket", Outcome: outcome, Cause: "why", Oldest: r.ID}); err != nil {
			t.Fatal(err)
		}
		if st, err := w.Status(t.Context(), r.ID); err != nil || st.State != want || (st.LastRing.Outcome == wake.Held) != (want == sessions.Queued) {
			t.Errorf("%s: status %+v, %v; want %s", outcome, st, err, want)
		}
	}
	if err := lease.Ack(t.Context(), inbox.Handles(lease.Messages)...); err != nil {
		t.Fatal(err)
	}
	if st, err := w.Status(t.Context(), r.ID); err != nil || st.State != sessions.Read {
		t.Errorf("accepted: %+v, %v", st, err)
	}
}

func TestAPartOfAnothersMessageIsNoPartOfThisOne(t *testing.T) {
	w := newWorld(t)
	birch := w.register("birch", callers.Caller{PID: w.pid(20)})
	box, _ := w.Mailbox(birch.ID)
	m := mail.Message{From: "amber", To: "birch", Content: "x", ID: "job-1"}
	if _, err := box.Deliver(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	for from, want := range map[string]string{"pine": sessions.Queued, "amber": sessions.Handed} {
		m.From = from
		ring := wake.Ring{At: w.clock.Add(time.Second), Method: "poll_inbox", Outcome: wake.InPart}.For(m)
		if err := w.Rang(t.Context(), birch.ID, ring); err != nil {
			t.Fatal(err)
		}
		if st, err := w.Status(t.Context(), "job-1"); err != nil || st.State != want {
			t.Errorf("a part of %s's: %+v, %v, want %s", from, st, err, want)
		}
	}
}

// Two messages have one id, and one of them comes from a program that gives any number as a time.
func TestAnAbsurdTimeHidesNoOtherStatus(t *testing.T) {
	w := newWorld(t)
	birch := w.register("birch", callers.Caller{PID: w.pid(20)})
	box, _ := w.Mailbox(birch.ID)
	for from, ts := range map[string]float64{"amber": 0, "pine": 1e300} {
		if _, err := box.Deliver(t.Context(), mail.Message{From: from, To: "birch", Content: "x", ID: "job-1", TS: ts}); err != nil {
			t.Fatal(err)
		}
	}
	st, err := w.Status(t.Context(), "job-1")
	if err != nil || len(st.Others) != 1 {
		t.Fatalf("status %+v, %v", st, err)
	}
	if _, err := json.Marshal(st); err != nil {
		t.Error(err)
	}
}

func TestSweptMailComesBackWithTheSession(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	amber, birch := w.register("amber", callers.Caller{PID: w.pid(10)}), w.register("birch", callers.Caller{Client: "claude", ClientID: "u", PID: w.pid(20)})
	person := w.register("pat", callers.Caller{Client: "human"})
	r := w.send(amber, "birch", "x")
	w.ends(20)
	if swept, err := moves.Sweep(ctx, w.Registry, time.Hour); err != nil || len(swept.Sessions) != 0 {
		t.Errorf("within the grace period: %+v, %v", swept, err)
	}
	w.clock = w.clock.Add(2 * time.Hour)
	swept, err := moves.Sweep(ctx, w.Registry, time.Hour)
	if err != nil || len(swept.Sessions) != 1 || swept.Sessions[0].ID != birch.ID || swept.Messages != 1 {
		t.Fatalf("swept %+v, %v", swept, err)
	}
	if st, err := w.Status(ctx, r.ID); err != nil || st.State != sessions.Dead {
		t.Errorf("status %+v, %v", st, err)
	}
	w.wantResolve(person.ID, callers.Caller{Explicit: "pat"})
	w.starts(20)
	back := w.attach(callers.Caller{Client: "claude", ClientID: "u", PID: w.pid(20)})
	if back.ID != birch.ID || back.Alias != "birch" {
		t.Errorf("back as %+v", back)
	}
	w.wantMail(birch.ID, "x")
	if dead, err := owed.DeadLetters(w.Registry); err != nil || len(dead) != 0 {
		t.Errorf("dead letters left: %v, %v", dead, err)
	}
}

// Somebody else writes into one mailbox for longer than send-all may take: the others get it, and
// each is told.
func TestSendAllTellsOfEverybodyWhenItsTimeIsOver(t *testing.T) {
	w := newWorld(t)
	amber := w.register("amber", callers.Caller{Explicit: "amber", PID: w.pid(10)})
	w.register("birch", callers.Caller{Explicit: "birch", PID: w.pid(20)})
	w.register("cedar", callers.Caller{Explicit: "cedar", PID: w.pid(30)})
	lock, err := atomicfile.Acquire(context.Background(), w.Dir(), w.box("birch").LockName())
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	sent, skipped, err := w.SendAll(ctx, amber, mail.Message{Content: "hi"})
	if err != nil || len(sent) != 1 || sent[0].To != "cedar" || len(skipped) != 1 || skipped[0].Alias != "birch" {
		t.Errorf("sent %+v, skipped %+v, %v", sent, skipped, err)
	}
	w.wantMail("cedar", "hi")
}
