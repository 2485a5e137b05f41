package broker_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"c2c/broker"
	"c2c/broker/moves"
	"c2c/inbox/mail"
	"c2c/sessions"
	"c2c/sessions/callers"
)

// answer answers what Received finds, or the last message when typed is "".
func (w *world) answer(s sessions.Session, typed string) (broker.Receipt, error) {
	w.t.Helper()
	find := func(ctx context.Context) (mail.Message, error) { return w.Received(ctx, s, typed) }
	if typed == "" {
		find = func(ctx context.Context) (mail.Message, error) { return w.LastReceived(ctx, s) }
	}
	m, err := find(context.Background())
	if err != nil {
		return broker.Receipt{}, err
	}
	return w.Reply(context.Background(), s, m, mail.Message{Content: "the answer"})
}

func TestAnAnswerGoesToWhoWroteWhateverItIsCalledNow(t *testing.T) {
	w := newWorld(t)
	amber, birch := w.register("amber", callers.Caller{PID: w.pid(10), Client: "claude"}), w.register("birch", callers.Caller{PID: w.pid(20), Client: "claude"})
	id := w.send(amber, "birch", "one").ID
	w.read(birch.ID)
	w.clock = w.clock.Add(time.Minute)
	w.register("amber-two", callers.Caller{PID: w.pid(10), Client: "claude"})
	taker := w.register("amber", callers.Caller{PID: w.pid(30), Client: "claude"})
	if taker.ID == amber.ID {
		t.Fatal("the same session")
	}
	r, err := w.answer(birch, mail.ShortID(id))
	if err != nil || r.To != "amber-two" || r.InReplyTo != id {
		t.Fatalf("%+v, %v", r, err)
	}
	w.wantMail(amber.ID, "the answer")
	w.wantMail(taker.ID)

	w.clock = w.clock.Add(time.Minute)
	later := w.send(taker, "birch", "two").ID
	if r, err = w.answer(birch, later); err != nil || r.To != "amber" {
		t.Errorf("to who has the alias now: %+v, %v", r, err)
	}
}

// sweptAmber gives a message of a session that is forgotten, to another that has read it.
func (w *world) sweptAmber(m mail.Message) (birch sessions.Session, id string) {
	w.t.Helper()
	amber := w.register("amber", callers.Caller{PID: w.pid(10), Client: "claude", ClientID: "a"})
	birch = w.register("birch", callers.Caller{PID: w.pid(20), Client: "claude", ClientID: "b"})
	m.To, m.Content = "birch", "one"
	r, err := w.Send(w.t.Context(), amber, m)
	if err != nil {
		w.t.Fatal(err)
	}
	w.read(birch.ID)
	w.ends(10)
	w.clock = w.clock.Add(2 * time.Hour)
	if swept, err := moves.Sweep(w.t.Context(), w.Registry, time.Hour); err != nil || len(swept.Sessions) != 1 {
		w.t.Fatal(swept, err)
	}
	return birch, r.ID
}

func TestAnAnswerToASweptSessionDoesNotGoToAStrangerOfItsName(t *testing.T) {
	for name, m := range map[string]mail.Message{"an id of c2c": {}, "a chosen id": {ID: "job-1"}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			birch, id := w.sweptAmber(m)
			stranger := w.register("amber", callers.Caller{PID: w.pid(30), Client: "codex", ClientID: "c"})
			_, err := w.answer(birch, id)
			if err == nil || !strings.Contains(err.Error(), "its sender has ended, and the name amber is another session's now") {
				t.Errorf("error %v", err)
			}
			w.wantMail(stranger.ID)
			if sent, err := w.Outbox(t.Context(), stranger, 9); err != nil || len(sent) != 0 {
				t.Errorf("the stranger has sent %v, %v", sent, err)
			}
			w.clock = w.clock.Add(time.Minute)
			if r, err := w.answer(birch, w.send(stranger, "birch", "two").ID); err != nil || r.To != "amber" {
				t.Errorf("an answer to the stranger: %+v, %v", r, err)
			}

			// An heir of the stranger is none of the one before; the one that comes back is.
			w.wantMail(stranger.ID, "the answer")
			w.ends(30)
			w.starts(40)
			heir := w.register("amber", callers.Caller{PID: w.pid(40), Client: "codex", ClientID: "d"})
			if _, err := w.answer(birch, id); err == nil || heir.ID == stranger.ID {
				t.Errorf("it went to the heir %v of the stranger", heir)
			}
			w.starts(10)
			back := w.attach(callers.Caller{PID: w.pid(10), Client: "claude", ClientID: "a"})
			if r, err := w.answer(birch, id); err != nil || r.To != back.Alias || back.Alias == "amber" {
				t.Errorf("to %+v, that is back: %+v, %v", back, r, err)
			}
		})
	}
}

// Whoever takes over an absent session's name, with its mail, goes on with its work.
func TestAnAnswerGoesToTheHeirOfAName(t *testing.T) {
	w := newWorld(t)
	w.register("amber", callers.Caller{PID: w.pid(10), Client: "claude"})
	birch := w.register("birch", callers.Caller{PID: w.pid(20), Client: "claude"})
	amber, err := callers.Resolve(t.Context(), w.Registry, callers.Caller{Explicit: "amber"})
	if err != nil {
		t.Fatal(err)
	}
	id := w.send(amber, "birch", "one").ID
	w.read(birch.ID)
	w.ends(10)
	w.clock = w.clock.Add(time.Hour)
	heir := w.register("amber", callers.Caller{PID: w.pid(30), Client: "codex"})
	if r, err := w.answer(birch, id); err != nil || r.To != "amber" || heir.ID == amber.ID {
		t.Errorf("%+v, %v", r, err)
	}
	w.wantMail(heir.ID, "the answer")
}

// A clock that was wrong when an alias was chosen takes nobody's mail away.
func TestAnAliasThatIsChosenInTheFutureIsItsHolders(t *testing.T) {
	w := newWorld(t)
	w.clock = w.clock.Add(720 * time.Hour)
	amber, birch := w.register("amber", callers.Caller{PID: w.pid(10)}), w.register("birch", callers.Caller{PID: w.pid(20)})
	w.clock = w.clock.Add(-720 * time.Hour)
	if r, err := w.answer(birch, w.send(amber, "birch", "one").ID); err != nil || r.To != "amber" {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestTheLastMessageIsAnsweredAndNoNotice(t *testing.T) {
	w := newWorld(t)
	amber, birch := w.register("amber", callers.Caller{PID: w.pid(10)}), w.register("birch", callers.Caller{PID: w.pid(20)})
	cedar := w.register("cedar", callers.Caller{PID: w.pid(30)})
	if _, err := w.answer(birch, ""); !errors.Is(err, broker.ErrNoMessage) || !strings.Contains(err.Error(), "birch") {
		t.Errorf("before the first: %v", err)
	}
	w.send(cedar, "birch", "of cedar, before")
	w.read(birch.ID)
	w.clock = w.clock.Add(time.Second)
	w.send(amber, "birch", "one")
	last := w.send(amber, "birch", "two").ID
	w.read(birch.ID)
	w.clock = w.clock.Add(time.Second)
	notice := mail.Message{From: sessions.SystemAlias, To: "birch", Content: "your mail waits", ID: "notice-1"} // a reader of the OCaml c2c drops its kind
	if _, err := w.box(birch.ID).Deliver(t.Context(), notice); err != nil {
		t.Fatal(err)
	}
	w.read(birch.ID)
	if r, err := w.answer(birch, ""); err != nil || r.To != "amber" || r.InReplyTo != last {
		t.Errorf("%+v, %v; want %s answered", r, err, last)
	}
	if _, err := w.answer(birch, "notice-1"); err == nil || !strings.Contains(err.Error(), "a notice of c2c itself") {
		t.Errorf("a notice: %v", err)
	}

	w.clock = w.clock.Add(time.Second)
	w.send(amber, "birch", "of amber")
	w.send(cedar, "birch", "of cedar")
	w.read(birch.ID)
	var several *broker.SeveralError
	if _, err := w.answer(birch, ""); !errors.As(err, &several) || !strings.Contains(err.Error(), "of amber") || !strings.Contains(err.Error(), "of cedar") {
		t.Errorf("two that came together: %v", err)
	}
}

func TestAnOwnMessageIsNotAnswered(t *testing.T) {
	w := newWorld(t)
	amber := w.register("amber", callers.Caller{PID: w.pid(10)})
	w.register("birch", callers.Caller{PID: w.pid(20)})
	if _, err := w.answer(amber, w.send(amber, "birch", "one").ID); !errors.Is(err, sessions.ErrSelfSend) || !strings.Contains(err.Error(), "is your own message: write to birch anew (") {
		t.Errorf("error %v", err)
	}
}

func TestOfTwoSendersWithOneIDTheReaderIsAsked(t *testing.T) {
	w := newWorld(t)
	amber, birch, cedar := w.register("amber", callers.Caller{PID: w.pid(10)}), w.register("birch", callers.Caller{PID: w.pid(20)}), w.register("cedar", callers.Caller{PID: w.pid(30)})
	for _, s := range []sessions.Session{amber, cedar} {
		if _, err := w.Send(t.Context(), s, mail.Message{To: "birch", ID: "job-1", Content: "of " + s.Alias}); err != nil {
			t.Fatal(err)
		}
	}
	var several *broker.SeveralError
	if _, err := w.answer(birch, "job-1"); !errors.As(err, &several) {
		t.Errorf("error %v", err)
	}
	// What others have with that id is nothing to who has one of them.
	if _, err := w.Send(t.Context(), amber, mail.Message{To: "cedar", ID: "job-1", Content: "for cedar"}); err != nil {
		t.Fatal(err)
	}
	if r, err := w.answer(cedar, "job-1"); err != nil || r.To != "amber" {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestAnAnswerToAMessageThatWasPruned(t *testing.T) {
	w := newWorld(t)
	amber, birch := w.register("amber", callers.Caller{PID: w.pid(10)}), w.register("birch", callers.Caller{PID: w.pid(20)})
	id := w.send(amber, "birch", "one").ID
	w.read(birch.ID)
	if _, err := w.box(birch.ID).Archive().Prune(t.Context(), time.Now().Add(time.Hour), false); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Status(t.Context(), id); !errors.Is(err, broker.ErrNoMessage) {
		t.Fatalf("it is still there: %v", err)
	}
	for _, typed := range []string{id, mail.ShortID(id)} {
		if r, err := w.answer(birch, typed); err != nil || r.To != "amber" || r.InReplyTo != id {
			t.Errorf("%s: %+v, %v", typed, r, err)
		}
	}
	if _, err := w.answer(birch, "01234567"); !errors.Is(err, broker.ErrNoMessage) {
		t.Errorf("one that never was: %v", err)
	}
}
