package broker_test

import (
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
	"c2c/relay/cache"
	"c2c/sessions"
	"c2c/sessions/callers"
)

// paired gives a root of a machine that is paired with devbox, and a session in it.
func paired(t *testing.T) (w *world, birch sessions.Session) {
	t.Helper()
	w = newWorldOf(t, broker.Config{
		Hosts: func() ([]string, error) { return []string{"devbox", "mini"}, nil },
		Hops:  4,
	})
	return w, w.register("birch", callers.Caller{PID: w.pid(10), Client: "gem"})
}

// relayed has the relay take what waits for devbox, which says that it has stored it.
func (w *world) relayed() {
	w.t.Helper()
	box, err := w.Mailbox("host-devbox")
	if err != nil {
		w.t.Fatal(err)
	}
	l, err := box.LeaseAll(w.t.Context(), inbox.ByRelay, 100)
	if err != nil {
		w.t.Fatal(err)
	}
	var handles []string
	for _, m := range l.Messages {
		handles = append(handles, m.Handle())
	}
	if err := l.Ack(w.t.Context(), handles...); err != nil {
		w.t.Fatal(err)
	}
}

// comes stores a message that amber on devbox has written.
func (w *world) comes(to sessions.Session, m mail.Message) mail.Message {
	w.t.Helper()
	m.From, m.FromSession, m.To, m.TS = "amber@devbox", "r-devbox.s9", to.Alias, mail.Seconds(w.clock)
	if m.ID == "" {
		m.ID = mail.NewID(w.clock)
	}
	box, err := w.Mailbox(to.ID)
	if err != nil {
		w.t.Fatal(err)
	}
	stored, err := box.Deliver(w.t.Context(), m)
	if err != nil {
		w.t.Fatal(err)
	}
	return stored.Messages[0]
}

func TestMailForAnotherMachineWaitsInItsOutbox(t *testing.T) {
	w, birch := paired(t)
	r, err := w.Send(t.Context(), birch, mail.Message{To: "Amber@DevBox", Content: "hi"})
	if err != nil || r.Host != "devbox" || r.Recipient != sessions.Remote || !strings.Contains(r.Note, "devbox was not reached yet") {
		t.Fatalf("%+v %v", r, err)
	}
	w.wantMail("host-devbox", "hi")
	if m := w.waiting("host-devbox")[0]; m.To != "Amber@devbox" || m.From != "birch" || m.ToAbsent {
		t.Errorf("%+v", m)
	}
	st, err := w.Status(t.Context(), r.ID)
	if err != nil || st.State != sessions.Queued || st.Host != "devbox" || !st.StoredThere.IsZero() || !strings.Contains(st.Why, "not reached") {
		t.Errorf("%+v %v", st, err)
	}
	if sent, err := w.Outbox(t.Context(), birch, 10); err != nil || len(sent) != 1 || sent[0].Status.State != sessions.Queued {
		t.Errorf("%+v %v", sent, err)
	}
}

func TestStatusSaysNoMoreThanTheOtherMachineHasTold(t *testing.T) {
	w, birch := paired(t)
	r := w.send(birch, "amber@devbox", "hi")
	w.relayed()
	st, err := w.Status(t.Context(), r.ID)
	if err != nil || st.State != sessions.Queued || st.StoredThere.IsZero() || !strings.Contains(strings.Join(st.Way, " · "), "stored at devbox") {
		t.Errorf("stored there: %+v %v", st, err)
	}
	for _, what := range []string{sessions.Handed, sessions.Read, sessions.Handed} {
		if err := cache.AddStates(w.Dir(), "devbox", []cache.HeardState{{ID: r.ID, Session: "alias-birch", What: what, By: "hook", At: mail.Seconds(w.clock)}}); err != nil {
			t.Fatal(err)
		}
		if what == sessions.Handed && st.State == sessions.Read {
			break
		}
		if st, err = w.Status(t.Context(), r.ID); err != nil || st.State != what || st.By != "hook" {
			t.Errorf("%s: %+v %v", what, st, err)
		}
	}
	if st, err = w.Status(t.Context(), r.ID); err != nil || st.State != sessions.Read {
		t.Errorf("a late report took back that it was read: %+v %v", st, err)
	}
}

func TestAMachineThatIsNotPairedTakesNoMail(t *testing.T) {
	w, birch := paired(t)
	var unknown *broker.UnknownHostError
	if _, err := w.Send(t.Context(), birch, mail.Message{To: "amber@elsewhere", Content: "hi"}); !errors.As(err, &unknown) || unknown.Host != "elsewhere" {
		t.Errorf("%v", err)
	}
	for _, bad := range []string{"amber@", "@devbox", "amber@dev box", "am ber@devbox", "amber@devbox@mini", "amber@-x"} {
		var noAlias *sessions.UnknownAliasError
		if _, err := w.Send(t.Context(), birch, mail.Message{To: bad, Content: "hi"}); !errors.As(err, &noAlias) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	w.cfg.Hosts = nil
	w.reopen()
	if _, err := w.Send(t.Context(), birch, mail.Message{To: "amber@devbox", Content: "hi"}); !errors.As(err, &unknown) {
		t.Errorf("without a list: %v", err)
	}
}

func TestNobodyActsAsAnotherMachine(t *testing.T) {
	w, _ := paired(t)
	for _, sid := range []string{"host-devbox", "HOST-devbox"} {
		if s, err := w.Register(t.Context(), callers.Caller{Explicit: sid, PID: w.pid(20), Client: "gem"}, "ash"); err == nil {
			t.Errorf("%s: %+v", sid, s)
		}
	}
}

func TestAnAnswerGoesBackToTheOtherMachine(t *testing.T) {
	w, birch := paired(t)
	asked := w.comes(birch, mail.Message{Kind: "question", Content: "green?"})
	w.read(birch.ID)
	r, err := w.Reply(t.Context(), birch, asked, mail.Message{Content: "yes"})
	if err != nil || r.To != "amber@devbox" || r.InReplyTo != asked.ID {
		t.Fatalf("%+v %v", r, err)
	}
	w.wantMail("host-devbox", "yes")
	if st, err := w.Status(t.Context(), asked.ID); err != nil || st.From != "amber@devbox" {
		t.Errorf("%+v %v", st, err)
	}
}

func TestAskWaitsForTheAnswerOfAnotherMachine(t *testing.T) {
	w, birch := paired(t)
	q := w.ask(birch, "amber@devbox", "green?")
	w.relayed()
	w.comes(birch, mail.Message{InReplyTo: q.ID, Content: "yes"})
	w.wantAnswer(q, "yes")
}

func TestAnAnswerThatDoesNotComeFromAnotherMachineIsTold(t *testing.T) {
	w, birch := paired(t)
	k := owed.NewChecker(w.Registry)
	if _, err := w.Send(t.Context(), birch, mail.Message{To: "amber@devbox", Content: "green?", Kind: "question", AnswerBy: mail.Seconds(w.clock.Add(5 * time.Minute))}); err != nil {
		t.Fatal(err)
	}
	w.relayed()
	w.look(k)
	w.pass(6 * time.Minute)
	w.look(k)
	w.wantNotices(birch.ID, "amber@devbox has not answered")
	w.wantMail("host-devbox")
}

func TestAnOutboxIsNotTidied(t *testing.T) {
	w, birch := paired(t)
	w.send(birch, "amber@devbox", "hi")
	w.pass(400 * 24 * time.Hour)
	if _, err := moves.Sweep(t.Context(), w.Registry, time.Hour); err != nil {
		t.Fatal(err)
	}
	moves.TidyDaily(t.Context(), w.Registry)
	w.wantMail("host-devbox", "hi")
}

func TestAgentsOnTwoMachinesThatOnlyAnswerEachOtherStop(t *testing.T) {
	w, all := guarded(t, 4, 1)
	w.cfg.Hosts = func() ([]string, error) { return []string{"devbox"}, nil }
	w.reopen()
	birch := all[0]
	hops := 0.0
	for range 10 {
		w.comes(birch, mail.Message{Content: "thanks", GuardHops: hops, GuardChain: "01920000-0000-7000-8000-000000000001"})
		w.read(birch.ID)
		w.pass(time.Second)
		r, err := w.Send(t.Context(), birch, mail.Message{To: "amber@devbox", Content: "thank you"})
		if err != nil {
			t.Fatal(err)
		}
		if r.Held {
			return
		}
		hops = w.waiting("host-devbox")[0].GuardHops + 1
		w.relayed()
		w.pass(time.Second)
	}
	t.Error("nothing was held")
}

func TestHostsAreListedWithWhatWaitsForThem(t *testing.T) {
	w, birch := paired(t)
	w.send(birch, "amber@mini", "hi")
	seen := mail.Seconds(w.clock.Add(-time.Hour))
	err := cache.ChangeHeard(w.Dir(), "devbox", func(h *cache.HeardHost) {
		h.Seen, h.Sessions = seen, []cache.HeardSession{{Alias: "amber", State: "idle"}}
	})
	if err != nil {
		t.Fatal(err)
	}
	all, err := w.Hosts()
	if err != nil || len(all) != 2 || all[0].Name != "devbox" || len(all[0].Sessions) != 1 || all[0].Linked || all[1].Waiting != 1 {
		t.Errorf("%+v %v", all, err)
	}
}

func TestWhatTheRelayHasLeasedWaitsUntilTheOtherMachineHasIt(t *testing.T) {
	w, birch := paired(t)
	w.send(birch, "amber@devbox", "one")
	w.send(birch, "amber@devbox", "two")
	oldest := w.waiting("host-devbox")[0].Time()
	box, err := w.Mailbox("host-devbox")
	if err != nil {
		t.Fatal(err)
	}
	l, err := box.LeaseAll(t.Context(), inbox.ByRelay, 1)
	if err != nil {
		t.Fatal(err)
	}
	w.send(birch, "amber@devbox", "three")
	if all, err := w.Hosts(); err != nil || all[0].Waiting != 3 || !all[0].Oldest.Equal(oldest) {
		t.Errorf("under way: %+v %v, want 3 since %v", all, err, oldest)
	}
	if err := l.Ack(t.Context(), l.Messages[0].Handle(), l.Messages[1].Handle()); err != nil {
		t.Fatal(err)
	}
	if all, err := w.Hosts(); err != nil || all[0].Waiting != 1 {
		t.Errorf("stored there: %+v %v, want 1", all, err)
	}
}

func TestWithoutAPairedMachineAListReadsNothingForOthers(t *testing.T) {
	w := newWorldOf(t, broker.Config{Hosts: func() ([]string, error) { return nil, nil }})
	if err := os.WriteFile(filepath.Join(w.Root(), "relay"), nil, 0o600); err != nil { // opening it is an error
		t.Fatal(err)
	}
	if all, err := w.RemoteSessions(); err != nil || all != nil {
		t.Errorf("%+v, %v", all, err)
	}
	if all, err := w.Hosts(); err != nil || all != nil {
		t.Errorf("%+v, %v", all, err)
	}
}

func TestAnAnswerOwedByAnotherMachineIsNotSaidToBeRead(t *testing.T) {
	w, birch := paired(t)
	if _, err := w.Send(t.Context(), birch, mail.Message{To: "amber@devbox", Content: "green?", Kind: "question", AnswerBy: mail.Seconds(w.clock.Add(time.Hour))}); err != nil {
		t.Fatal(err)
	}
	if o := w.owesOne(birch); o.To != "amber@devbox" || !strings.Contains(o.Why, "devbox was not reached yet") || strings.Contains(o.Do, "sweep") {
		t.Errorf("before it is there: %+v", o)
	}
	w.relayed()
	if o := w.owesOne(birch); !o.ObservedAt.IsZero() || strings.Contains(o.Why, "read after") || !strings.Contains(o.Why, "devbox has not reported that it was read") {
		t.Errorf("stored there: %+v", o)
	}
	if st, err := owed.ReadStats(t.Context(), w.Registry); err != nil || st.Total.Observed != 0 {
		t.Errorf("%+v %v", st, err)
	}
	read := cache.HeardState{ID: w.owesOne(birch).ID, What: sessions.Read, By: "hook", At: mail.Seconds(w.clock)}
	if err := cache.AddStates(w.Dir(), "devbox", []cache.HeardState{read}); err != nil {
		t.Fatal(err)
	}
	if o := w.owesOne(birch); o.ObservedAt.IsZero() || !strings.Contains(o.Why, "read there at") || !strings.HasSuffix(o.Why, " and not answered") {
		t.Errorf("read there: %+v", o)
	}
}

func TestNobodyIsTheAuthorOfMailFromAnotherMachine(t *testing.T) {
	w, birch := paired(t)
	w.register("evil", callers.Caller{Explicit: "r-devbox.s9", PID: w.pid(20), Client: "gem"})
	asked := w.comes(birch, mail.Message{Kind: "question", Content: "green?"})
	r, err := w.Reply(t.Context(), birch, asked, mail.Message{Content: "yes"})
	if err != nil || r.To != "amber@devbox" {
		t.Errorf("%+v %v", r, err)
	}
	w.wantMail("host-devbox", "yes")
}

func TestAMessageThatAnotherMachineRefusesIsADeadLetter(t *testing.T) {
	w, birch := paired(t)
	r := w.send(birch, "amber@devbox", "hi")
	m := w.waiting("host-devbox")[0]
	for range 2 { // after a kill the relay tells it once more
		if err := broker.TellRefused(t.Context(), w.Broker, "host-devbox", m, "no session there has this alias"); err != nil {
			t.Fatal(err)
		}
	}
	box, err := w.Mailbox("host-devbox")
	if err == nil {
		err = box.Withdraw(t.Context(), m)
	}
	if err != nil {
		t.Fatal(err)
	}
	w.wantNotices(birch.ID, "no session there has this alias")
	st, err := w.Status(t.Context(), r.ID)
	if err != nil || st.State != sessions.Dead || st.Reason != "no session there has this alias" || len(st.Told) != 1 {
		t.Errorf("%+v %v", st, err)
	}
	if sent, err := w.Outbox(t.Context(), birch, 10); err != nil || len(sent) != 1 || sent[0].Status.State != sessions.Dead {
		t.Errorf("%+v %v", sent, err)
	}
}

// The sender of a message that waits for another machine is told so once: after the time that it
// has set, after half an hour if it waits for an answer, else after a day.
func TestASenderIsToldOfMailThatWaitsForAnotherMachine(t *testing.T) {
	w, birch := paired(t)
	k := owed.NewChecker(w.Registry)
	send := func(m mail.Message) {
		t.Helper()
		m.To, m.Content = "amber@devbox", "is the build green?"
		if _, err := w.Send(t.Context(), birch, m); err != nil {
			t.Fatal(err)
		}
	}
	send(mail.Message{})
	send(mail.Message{TellAfter: 60})
	if wait := w.look(k); wait <= 0 || wait > time.Minute {
		t.Errorf("the next look is after %s", wait)
	}
	w.wantNotices(birch.ID)
	w.pass(2 * time.Minute)
	w.look(k)
	w.wantNotices(birch.ID, "devbox has not confirmed your message")
	w.look(k)
	w.look(owed.NewChecker(w.Registry))
	w.wantNotices(birch.ID, "devbox has not confirmed your message")
	w.pass(23 * time.Hour)
	w.look(k)
	w.wantNotices(birch.ID, "devbox has not confirmed your message")
	w.pass(2 * time.Hour)
	w.look(k)
	w.wantNotices(birch.ID, "devbox has not confirmed your message", "devbox has not confirmed your message")
	w.relayed()
	w.pass(24 * time.Hour)
	w.look(k)
	w.wantNotices(birch.ID, "devbox has not confirmed your message", "devbox has not confirmed your message")
}

// Mail for another machine that may wait is no news, as mail for a session here.
func TestNobodyIsToldOfMailForAnotherMachineThatMayWait(t *testing.T) {
	w, birch := paired(t)
	for _, m := range []mail.Message{{Deferrable: true}, {Kind: "status"}, {TellAfter: -1}, {Ephemeral: true}} {
		m.To, m.Content = "amber@devbox", "when you have time"
		if _, err := w.Send(t.Context(), birch, m); err != nil {
			t.Fatal(err)
		}
	}
	k := owed.NewChecker(w.Registry)
	w.look(k)
	w.pass(48 * time.Hour)
	w.look(k)
	w.wantNotices(birch.ID)
}

func TestASenderIsToldOfAQuestionThatWaitsForAnotherMachine(t *testing.T) {
	w, birch := paired(t)
	k := owed.NewChecker(w.Registry)
	if _, err := w.Send(t.Context(), birch, mail.Message{To: "amber@devbox", Content: "is the build green?", Kind: "question"}); err != nil {
		t.Fatal(err)
	}
	w.pass(20 * time.Minute)
	w.look(k)
	w.wantNotices(birch.ID)
	w.pass(15 * time.Minute)
	w.look(k)
	w.wantNotices(birch.ID, "devbox has not confirmed your message")
}

// A message that expires while its machine is away is told to its sender, once, and stays for the
// relay.
func TestASenderIsToldOfMailForAnotherMachineThatHasExpired(t *testing.T) {
	for _, leased := range []bool{false, true} {
		w, birch := paired(t)
		if _, err := w.Send(t.Context(), birch, mail.Message{To: "amber@devbox", Content: "now or never", ExpiresAt: mail.Seconds(w.clock.Add(time.Minute))}); err != nil {
			t.Fatal(err)
		}
		m := w.waiting("host-devbox")[0]
		if leased { // and the receipt has not come
			box, err := w.Mailbox("host-devbox")
			if err != nil {
				t.Fatal(err)
			}
			l, err := box.LeaseAll(t.Context(), inbox.ByRelay, 100)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Release()
		}
		k := owed.NewChecker(w.Registry)
		if wait := w.look(k); wait <= 0 || wait > time.Minute {
			t.Errorf("the next look is after %s", wait)
		}
		w.wantNotices(birch.ID)
		w.pass(2 * time.Minute)
		w.look(k)
		if box, err := w.Mailbox("host-devbox"); err != nil {
			t.Fatal(err)
		} else if used, err := box.Used(); err != nil || !used {
			t.Errorf("the message was taken out: %v", err)
		}
		w.wantNotices(birch.ID, "devbox has not confirmed your message")
		w.look(k)
		w.look(owed.NewChecker(w.Registry))
		if err := broker.TellRefused(t.Context(), w.Broker, "host-devbox", m, "it had expired when it arrived"); err != nil {
			t.Fatal(err)
		}
		w.wantNotices(birch.ID, "devbox has not confirmed your message")
	}
}

func TestABlockedMailboxRefusesMailOfAnotherMachineForGood(t *testing.T) {
	w, birch := paired(t)
	if err := os.MkdirAll(filepath.Join(w.Root(), birch.ID+".inbox.json"), 0o700); err != nil {
		t.Fatal(err)
	}
	msgs := []mail.Message{{From: "amber@devbox", FromSession: "r-devbox.s9", To: "birch", ID: "m-1", Content: "hi"}}
	if _, err := broker.Receive(t.Context(), w.Broker, "birch", msgs, false); !errors.Is(err, broker.ErrBlocked) {
		t.Errorf("a directory in the place of the inbox: %v", err)
	}
	if err := os.Remove(filepath.Join(w.Root(), birch.ID+".inbox.json")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := broker.Receive(t.Context(), w.Broker, "birch", msgs, true); err != nil {
			t.Error(err)
		}
	}
	w.wantMail(birch.ID, "hi")
}
