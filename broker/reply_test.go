package broker

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"c2c/inbox"
)

// answer answers what Received finds, or the last message when typed is "".
func (w *world) answer(s Session, typed string) (Receipt, error) {
	w.t.Helper()
	find := func(ctx context.Context) (inbox.Message, error) { return w.Received(ctx, s, typed) }
	if typed == "" {
		find = func(ctx context.Context) (inbox.Message, error) { return w.LastReceived(ctx, s) }
	}
	m, err := find(context.Background())
	if err != nil {
		return Receipt{}, err
	}
	return w.Reply(context.Background(), s, m, inbox.Message{Content: "the answer"})
}

func TestAnAnswerGoesToWhoWroteWhateverItIsCalledNow(t *testing.T) {
	w := newWorld(t)
	amber, birch := w.register("amber", Caller{PID: 10, Client: "claude"}), w.register("birch", Caller{PID: 20, Client: "claude"})
	id := w.send(amber, "birch", "one").ID
	w.read(birch.ID)
	w.clock = w.clock.Add(time.Minute)
	w.register("amber-two", Caller{PID: 10, Client: "claude"})
	taker := w.register("amber", Caller{PID: 30, Client: "claude"})
	if taker.ID == amber.ID {
		t.Fatal("the same session")
	}
	r, err := w.answer(birch, inbox.ShortID(id))
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

func TestTheLastMessageIsAnsweredAndNoNotice(t *testing.T) {
	w := newWorld(t)
	amber, birch := w.register("amber", Caller{PID: 10}), w.register("birch", Caller{PID: 20})
	cedar := w.register("cedar", Caller{PID: 30})
	if _, err := w.answer(birch, ""); !errors.Is(err, ErrNoMessage) || !strings.Contains(err.Error(), "birch") {
		t.Errorf("before the first: %v", err)
	}
	w.send(cedar, "birch", "of cedar, before")
	w.read(birch.ID)
	w.clock = w.clock.Add(time.Second)
	w.send(amber, "birch", "one")
	last := w.send(amber, "birch", "two").ID
	w.read(birch.ID)
	w.clock = w.clock.Add(time.Second)
	notice := inbox.Message{From: SystemAlias, To: "birch", Content: "your mail waits", ID: "notice-1"} // a reader of the original drops its kind
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
	var several *SeveralError
	if _, err := w.answer(birch, ""); !errors.As(err, &several) || !strings.Contains(err.Error(), "of amber") || !strings.Contains(err.Error(), "of cedar") {
		t.Errorf("two that came together: %v", err)
	}
}

func TestAnOwnMessageIsNotAnswered(t *testing.T) {
	w := newWorld(t)
	amber := w.register("amber", Caller{PID: 10})
	w.register("birch", Caller{PID: 20})
	if _, err := w.answer(amber, w.send(amber, "birch", "one").ID); !errors.Is(err, ErrSelfSend) || !strings.Contains(err.Error(), "is your own message: write to birch anew (") {
		t.Errorf("error %v", err)
	}
}

func TestOfTwoSendersWithOneIDTheReaderIsAsked(t *testing.T) {
	w := newWorld(t)
	amber, birch, cedar := w.register("amber", Caller{PID: 10}), w.register("birch", Caller{PID: 20}), w.register("cedar", Caller{PID: 30})
	for _, s := range []Session{amber, cedar} {
		if _, err := w.Send(t.Context(), s, inbox.Message{To: "birch", ID: "job-1", Content: "of " + s.Alias}); err != nil {
			t.Fatal(err)
		}
	}
	var several *SeveralError
	if _, err := w.answer(birch, "job-1"); !errors.As(err, &several) {
		t.Errorf("error %v", err)
	}
	// What others have with that id is nothing to who has one of them.
	if _, err := w.Send(t.Context(), amber, inbox.Message{To: "cedar", ID: "job-1", Content: "for cedar"}); err != nil {
		t.Fatal(err)
	}
	if r, err := w.answer(cedar, "job-1"); err != nil || r.To != "amber" {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestAnAnswerToAMessageThatWasPruned(t *testing.T) {
	w := newWorld(t)
	amber, birch := w.register("amber", Caller{PID: 10}), w.register("birch", Caller{PID: 20})
	id := w.send(amber, "birch", "one").ID
	w.read(birch.ID)
	if _, err := w.box(birch.ID).PruneArchive(t.Context(), time.Now().Add(time.Hour), false); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Status(t.Context(), id); !errors.Is(err, ErrNoMessage) {
		t.Fatalf("it is still there: %v", err)
	}
	for _, typed := range []string{id, inbox.ShortID(id)} {
		if r, err := w.answer(birch, typed); err != nil || r.To != "amber" || r.InReplyTo != id {
			t.Errorf("%s: %+v, %v", typed, r, err)
		}
	}
	if _, err := w.answer(birch, "01234567"); !errors.Is(err, ErrNoMessage) {
		t.Errorf("one that never was: %v", err)
	}
}
