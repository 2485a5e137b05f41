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
	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/sessions"
	"c2c/sessions/callers"
)

const askTime = time.Minute

func (w *world) ask(from sessions.Session, to, body string) *broker.Question {
	w.t.Helper()
	q, err := w.Ask(w.t.Context(), from, mail.Message{To: to, Content: body}, askTime)
	if err != nil {
		w.t.Fatalf("ask %s: %v", to, err)
	}
	return q
}

func (w *world) wantAnswer(q *broker.Question, want string) *broker.Answer {
	w.t.Helper()
	a, err := q.Look(w.t.Context())
	got := ""
	if a != nil {
		got = a.Content
	}
	if err != nil || got != want {
		w.t.Fatalf("the answer is %q, %v; want %q", got, err, want)
	}
	return a
}

func TestTheAnswerIsForWhoAskedAlone(t *testing.T) {
	w := newWorld(t)
	amber, birch := w.register("amber", callers.Caller{PID: w.pid(10)}), w.register("birch", callers.Caller{PID: w.pid(20)})
	cedar := w.register("cedar", callers.Caller{PID: w.pid(30)})
	q := w.ask(amber, "birch", "what is 6 times 7?")
	w.wantAnswer(q, "")
	w.send(cedar, "amber", "other mail")
	if _, err := w.Send(t.Context(), cedar, mail.Message{To: "amber", Content: "of another one", InReplyTo: q.ID}); err != nil {
		t.Fatal(err)
	}
	w.wantAnswer(q, "")
	if state, text := q.Became(t.Context(), "poll"); state != sessions.Queued || strings.Contains(text, "has written") {
		t.Errorf("it became %s: %s", state, text)
	}
	w.send(birch, "amber", "of birch, and no answer")
	if _, text := q.Became(t.Context(), "poll"); !strings.HasSuffix(text, "; birch has written to you since: poll") {
		t.Errorf("it became %s", text)
	}
	reply, err := w.answer(birch, q.ID)
	if err != nil {
		t.Fatal(err)
	}
	w.wantMail(amber.ID, "other mail", "of another one", "of birch, and no answer") // a hook that comes first has no answer
	a := w.wantAnswer(q, "the answer")
	if err := a.Ack(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if err := q.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.wantMail(amber.ID, "other mail", "of another one", "of birch, and no answer")
	if st, err := w.Status(t.Context(), reply.ID); err != nil || st.State != sessions.Read || st.By != inbox.ByAsk {
		t.Errorf("%+v, %v", st, err)
	}
	if names, err := os.ReadDir(filepath.Join(w.Root(), askingDir)); err != nil || len(names) != 1 {
		t.Errorf("left: %v, %v", names, err)
	}
}

func TestAnHeirAnswersForTheOneThatWasAsked(t *testing.T) {
	w := newWorld(t)
	amber, birch := w.register("amber", callers.Caller{PID: w.pid(10)}), w.register("birch", callers.Caller{PID: w.pid(20)})
	q := w.ask(amber, "birch", "one?")
	w.ends(20)
	w.clock = w.clock.Add(time.Second)
	heir := w.register("birch", callers.Caller{PID: w.pid(30), Client: "codex"})
	if heir.ID == birch.ID {
		t.Fatal("the same session")
	}
	if _, err := w.answer(heir, q.ID); err != nil {
		t.Fatal(err)
	}
	w.wantMail(amber.ID)
	w.wantAnswer(q, "the answer")
}

// A process that was stopped keeps its lock, and not what it waits for longer than it would have
// waited.
func TestAStoppedAskKeepsNoAnswerBehindItsTime(t *testing.T) {
	w := newWorld(t)
	amber, birch := w.register("amber", callers.Caller{PID: w.pid(10)}), w.register("birch", callers.Caller{PID: w.pid(20)})
	q := w.ask(amber, "birch", "one?")
	if _, err := w.answer(birch, q.ID); err != nil {
		t.Fatal(err)
	}
	w.clock = w.clock.Add(askTime)
	w.wantMail(amber.ID)
	w.clock = w.clock.Add(waitGrace + time.Second)
	w.wantMail(amber.ID, "the answer")
	w.ask(birch, "amber", "two?").Close(t.Context()) // it waits for nobody any more, and its file goes
	if err := q.Close(t.Context()); err != nil {
		t.Errorf("it goes on, and ends: %v", err)
	}
	if names, err := os.ReadDir(filepath.Join(w.Root(), askingDir)); err != nil || len(names) != 1 {
		t.Errorf("left: %v, %v", names, err)
	}
}

func TestALateAnswerIsMail(t *testing.T) {
	w := newWorld(t)
	amber, birch := w.register("amber", callers.Caller{PID: w.pid(10)}), w.register("birch", callers.Caller{PID: w.pid(20)})
	q := w.ask(amber, "birch", "one?")
	if err := q.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := w.answer(birch, q.ID); err != nil {
		t.Fatal(err)
	}
	w.wantMail(amber.ID, "the answer")
}

func TestAnAnswerThatAnotherReaderHasHadEndsTheWait(t *testing.T) {
	w := newWorld(t)
	amber, birch := w.register("amber", callers.Caller{PID: w.pid(10)}), w.register("birch", callers.Caller{PID: w.pid(20)})
	q := w.ask(amber, "birch", "one?")
	if _, err := w.answer(birch, q.ID); err != nil {
		t.Fatal(err)
	}
	l, err := w.box(amber.ID).LeaseAll(t.Context(), "original", 1<<30) // it knows of no waits
	if err != nil {
		t.Fatal(err)
	}
	w.wantAnswer(q, "")
	if err := l.Ack(t.Context(), inbox.Handles(l.Messages)...); err != nil {
		t.Fatal(err)
	}
	var taken *broker.TakenError
	if _, err := q.Look(t.Context()); !errors.As(err, &taken) || taken.By != "original" {
		t.Errorf("error %v", err)
	}
}

// A file in asking/ may be anybody's.
func TestOddFilesOfWaitsStopNobody(t *testing.T) {
	w := newWorld(t)
	amber, birch := w.register("amber", callers.Caller{PID: w.pid(10)}), w.register("birch", callers.Caller{PID: w.pid(20)})
	w.ask(amber, "birch", "one?").Close(t.Context())
	dir := filepath.Join(w.Root(), askingDir)
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "a-directory"), 0o700), os.Symlink("/etc/passwd", filepath.Join(dir, "a-link")),
		os.WriteFile(filepath.Join(dir, "garbage"), []byte(strings.Repeat("x\n", 1000)), 0o600)); err != nil {
		t.Fatal(err)
	}
	w.ask(birch, "amber", "two?").Close(t.Context())
}

// sweeps ends a process and forgets its session.
func (w *world) sweeps(pid int) {
	w.t.Helper()
	w.ends(pid)
	w.clock = w.clock.Add(2 * time.Hour)
	if swept, err := moves.Sweep(w.t.Context(), w.Registry, time.Hour); err != nil || len(swept.Sessions) != 1 {
		w.t.Fatal(swept, err)
	}
}

func TestAStrangerOfTheSameNameIsNotTheOneThatWasAsked(t *testing.T) {
	w := newWorld(t)
	amber := w.register("amber", callers.Caller{PID: w.pid(10), ClientID: "a", Client: "claude"})
	birch := w.register("birch", callers.Caller{PID: w.pid(20), ClientID: "b", Client: "claude"})
	q, err := w.Ask(t.Context(), amber, mail.Message{To: "birch", Content: "one?"}, 9*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	w.read(birch.ID)
	w.sweeps(20)
	stranger := w.register("birch", callers.Caller{PID: w.pid(30), ClientID: "c", Client: "codex"})
	if stranger.ID == birch.ID {
		t.Fatal("the same session")
	}
	if _, err := w.Send(t.Context(), stranger, mail.Message{To: "amber", Content: "of a stranger", InReplyTo: q.ID}); err != nil {
		t.Fatal(err)
	}
	w.wantAnswer(q, "")
	w.wantMail(amber.ID, "of a stranger")
}

func TestAskSaysOfAnUnansweredQuestionWhatStatusSays(t *testing.T) {
	w := newWorld(t)
	amber := w.register("amber", callers.Caller{PID: w.pid(10)})
	w.register("birch", callers.Caller{Client: "copilot", Start: "birch", PID: w.pid(20)})
	q := w.ask(amber, "birch", "one?")
	_, text := q.Became(t.Context(), "poll")
	if want := "the question is queued; birch runs; nothing of c2c has run in its client yet; a dialog may wait in its terminal, such as whether you trust the folder"; !strings.HasPrefix(text, want) {
		t.Errorf("it became %s", text)
	}
}
