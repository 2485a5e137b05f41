// These tests force a kill: they close the file of a wait, or give up a lease, as the end of a
// process does. And they look at when a question looks again, because each look reads all mail.

package broker_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"c2c/broker"
	"c2c/inbox/mail"
	"c2c/sessions"
	"c2c/sessions/callers"
)

func TestAnAnswerThatIsNotHandedOverIsMail(t *testing.T) {
	w := newWorld(t)
	amber, birch := w.register("amber", callers.Caller{PID: w.pid(10)}), w.register("birch", callers.Caller{PID: w.pid(20)})
	for name, end := range map[string]func(q *broker.Question){
		"killed before it looks": func(q *broker.Question) { q.File().Close() },
		"killed with it in hand": func(q *broker.Question) { w.wantAnswer(q, "the answer").GiveUp(); q.File().Close() },
		"the output has gone": func(q *broker.Question) {
			w.wantAnswer(q, "the answer").Ack(t.Context(), errors.New("closed"))
			q.Close(t.Context())
		},
		"it ends before it has come": func(q *broker.Question) { q.Close(t.Context()) },
	} {
		q := w.ask(amber, "birch", "one?")
		if _, err := w.answer(birch, q.ID); err != nil {
			t.Fatal(err)
		}
		w.wantMail(amber.ID)
		before, err := w.box(amber.ID).Stamp()
		if err != nil {
			t.Fatal(err)
		}
		end(q)
		w.wantMail(amber.ID, "the answer")
		if after, err := w.box(amber.ID).Stamp(); err != nil || before == after && !strings.Contains(name, "killed") {
			t.Errorf("%s: who watches is not told (%v)", name, err)
		}
		w.read(amber.ID)
	}
}

func TestNobodyWaitsForOneWhoWaitsForHim(t *testing.T) {
	w := newWorld(t)
	amber, birch, cedar := w.register("amber", callers.Caller{PID: w.pid(10)}), w.register("birch", callers.Caller{PID: w.pid(20)}), w.register("cedar", callers.Caller{PID: w.pid(30)})
	first := w.ask(amber, "birch", "one?")
	refused := func(from sessions.Session, to string, says ...string) {
		t.Helper()
		_, err := w.Ask(t.Context(), from, mail.Message{To: to, Content: "x"}, askTime)
		var circle *sessions.CircleError
		if !errors.As(err, &circle) {
			t.Fatalf("%s asks %s: %v", from.Alias, to, err)
		}
		for _, words := range says {
			if !strings.Contains(err.Error(), words) {
				t.Errorf("%q says nothing of %q", err, words)
			}
		}
	}
	refused(birch, "amber", "amber waits for your answer to "+mail.ShortID(first.ID))
	second := w.ask(birch, "cedar", "two?")
	refused(cedar, "amber", "amber waits for birch, which waits for your answer to "+mail.ShortID(second.ID))
	refused(cedar, "birch", mail.ShortID(second.ID))
	w.wantMail(cedar.ID, "two?") // what was refused was not sent
	w.wantMail(amber.ID)

	second.File().Close()
	w.ask(cedar, "amber", "three?").Close(t.Context())
	first.Close(t.Context())
	if names, err := os.ReadDir(filepath.Join(w.Root(), sessions.AskingDir)); err != nil || len(names) != 1 {
		t.Errorf("left of the killed one: %v, %v", names, err)
	}
	if _, err := w.Ask(t.Context(), birch, mail.Message{To: "nobody", Content: "x"}, askTime); !errors.As(err, new(*sessions.UnknownAliasError)) {
		t.Errorf("nobody: %v", err)
	}
}

// The question of amber has no id yet: amber is about to send it.
func TestOfTwoThatAskEachOtherAtOnceOneIsToldNoIDThatDoesNotExist(t *testing.T) {
	w := newWorld(t)
	amber, birch := w.register("amber", callers.Caller{PID: w.pid(10)}), w.register("birch", callers.Caller{PID: w.pid(20)})
	rows, err := w.Rows(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	wait, err := sessions.StartWait(t.Context(), w.Registry, rows, sessions.Wait{Asks: amber.ID, Asked: birch.ID, Alias: "birch"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.Ask(t.Context(), birch, mail.Message{To: "amber", Content: "x"}, askTime)
	var circle *sessions.CircleError
	if !errors.As(err, &circle) || circle.Question != "" || !strings.Contains(err.Error(), "amber waits for your answer to a question that it sends you now") {
		t.Errorf("%v", err)
	}
	if err := wait.End(); err != nil {
		t.Error(err)
	}
}

// A look closes the lock file, and a process that waits for that looks again. So c2c does not look
// while nothing can come of it.
func TestAnAnswerInAnothersHandsIsAwaitedAtRest(t *testing.T) {
	w := newWorld(t)
	amber, birch := w.register("amber", callers.Caller{PID: w.pid(10)}), w.register("birch", callers.Caller{PID: w.pid(20)})
	q := w.ask(amber, "birch", "one?")
	if _, err := w.answer(birch, q.ID); err != nil {
		t.Fatal(err)
	}
	l, err := w.box(amber.ID).LeaseAll(t.Context(), "other", 1)
	if err != nil || len(l.Messages) != 1 {
		t.Fatal(l, err)
	}
	w.wantAnswer(q, "")
	if stamp, err := w.box(amber.ID).Stamp(); err != nil || q.Stamp() != stamp {
		t.Errorf("it looks again at %q, %v", stamp, err)
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	w.wantAnswer(q, "the answer")
}
