package broker

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"c2c/inbox"
)

const askTime = time.Minute

func (w *world) ask(from Session, to, body string) *Question {
	w.t.Helper()
	q, err := w.Ask(w.t.Context(), from, inbox.Message{To: to, Content: body}, askTime)
	if err != nil {
		w.t.Fatalf("ask %s: %v", to, err)
	}
	return q
}

// kill ends the process of one who waits: its locks go, and its files stay.
func (q *Question) kill() { q.wait.file.Close() }

func (w *world) wantAnswer(q *Question, want string) *Answer {
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
	amber, birch := w.register("amber", Caller{PID: 10}), w.register("birch", Caller{PID: 20})
	cedar := w.register("cedar", Caller{PID: 30})
	q := w.ask(amber, "birch", "what is 6 times 7?")
	w.wantAnswer(q, "")
	w.send(cedar, "amber", "other mail")
	if _, err := w.Send(t.Context(), cedar, inbox.Message{To: "amber", Content: "of another one", InReplyTo: q.ID}); err != nil {
		t.Fatal(err)
	}
	w.wantAnswer(q, "")
	reply, err := w.answer(birch, q.ID)
	if err != nil {
		t.Fatal(err)
	}
	w.wantMail(amber.ID, "other mail", "of another one") // a hook that comes first has no answer
	a := w.wantAnswer(q, "the answer")
	if err := a.Ack(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if err := q.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.wantMail(amber.ID, "other mail", "of another one")
	if st, err := w.Status(t.Context(), reply.ID); err != nil || st.State != Read || st.By != ByAsk {
		t.Errorf("%+v, %v", st, err)
	}
	if names, err := os.ReadDir(filepath.Join(w.Root(), askingDir)); err != nil || len(names) != 1 {
		t.Errorf("left: %v, %v", names, err)
	}
}

// sweeps ends a process and forgets its session.
func (w *world) sweeps(pid int) {
	w.t.Helper()
	delete(w.procs, pid)
	w.clock = w.clock.Add(2 * time.Hour)
	if swept, err := w.Sweep(w.t.Context(), time.Hour); err != nil || len(swept.Sessions) != 1 {
		w.t.Fatal(swept, err)
	}
}

func TestAStrangerOfTheSameNameIsNotTheOneThatWasAsked(t *testing.T) {
	w := newWorld(t)
	amber := w.register("amber", Caller{PID: 10, ClientID: "a", Client: "claude"})
	w.register("birch", Caller{PID: 20, ClientID: "b", Client: "claude"})
	q, err := w.Ask(t.Context(), amber, inbox.Message{To: "birch", Content: "one?"}, 9*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	w.read(q.asked)
	w.sweeps(20)
	stranger := w.register("birch", Caller{PID: 30, ClientID: "c", Client: "codex"})
	if stranger.ID == q.asked {
		t.Fatal("the same session")
	}
	if _, err := w.Send(t.Context(), stranger, inbox.Message{To: "amber", Content: "of a stranger", InReplyTo: q.ID}); err != nil {
		t.Fatal(err)
	}
	w.wantAnswer(q, "")
	w.wantMail(amber.ID, "of a stranger")
}

func TestAnHeirAnswersForTheOneThatWasAsked(t *testing.T) {
	w := newWorld(t)
	amber, birch := w.register("amber", Caller{PID: 10}), w.register("birch", Caller{PID: 20})
	q := w.ask(amber, "birch", "one?")
	delete(w.procs, 20)
	w.clock = w.clock.Add(time.Second)
	heir := w.register("birch", Caller{PID: 30, Client: "codex"})
	if heir.ID == birch.ID {
		t.Fatal("the same session")
	}
	if _, err := w.answer(heir, q.ID); err != nil {
		t.Fatal(err)
	}
	w.wantMail(amber.ID)
	w.wantAnswer(q, "the answer")
}

// A process that was stopped keeps its lock, and not what it waits for longer than it would have waited.
func TestAStoppedAskKeepsNoAnswerBehindItsTime(t *testing.T) {
	w := newWorld(t)
	amber, birch := w.register("amber", Caller{PID: 10}), w.register("birch", Caller{PID: 20})
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

// The version before wants three lines, each with an end, and nothing or one without behind them.
func TestTheFileOfAWaitIsReadByOlderVersions(t *testing.T) {
	w := newWorld(t)
	amber, birch := w.register("amber", Caller{PID: 10}), w.register("birch", Caller{PID: 20})
	q := w.ask(amber, "birch", "one?")
	lines := strings.Split(w.file(askingDir+"/"+q.ID), "\n")
	if len(lines) != 4 || lines[0] != amber.ID || lines[1] != birch.ID || lines[2] != "birch" {
		t.Errorf("lines %q", lines)
	}
	if _, err := w.answer(birch, q.ID); err != nil {
		t.Fatal(err)
	}
	for _, end := range []string{"", "x", "NaN", "-1", "1e400"} { // an older version writes none
		if err := errors.Join(q.wait.file.Truncate(0), func() error {
			_, err := q.wait.file.WriteAt([]byte(strings.Join(lines[:3], "\n")+"\n"+end), 0)
			return err
		}()); err != nil {
			t.Fatal(err)
		}
		w.clock = w.clock.Add(time.Hour)
		w.wantMail(amber.ID)
	}
}

func TestALateAnswerIsMail(t *testing.T) {
	w := newWorld(t)
	amber, birch := w.register("amber", Caller{PID: 10}), w.register("birch", Caller{PID: 20})
	q := w.ask(amber, "birch", "one?")
	if err := q.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := w.answer(birch, q.ID); err != nil {
		t.Fatal(err)
	}
	w.wantMail(amber.ID, "the answer")
}

func TestAnAnswerThatIsNotHandedOverIsMail(t *testing.T) {
	w := newWorld(t)
	amber, birch := w.register("amber", Caller{PID: 10}), w.register("birch", Caller{PID: 20})
	for name, end := range map[string]func(q *Question){
		"killed before it looks": func(q *Question) { q.kill() },
		"killed with it in hand": func(q *Question) { w.wantAnswer(q, "the answer").lease.Release(); q.kill() },
		"the output has gone": func(q *Question) {
			w.wantAnswer(q, "the answer").Ack(t.Context(), errors.New("closed"))
			q.Close(t.Context())
		},
		"it ends before it has come": func(q *Question) { q.Close(t.Context()) },
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

func TestAnAnswerThatAnotherReaderHasHadEndsTheWait(t *testing.T) {
	w := newWorld(t)
	amber, birch := w.register("amber", Caller{PID: 10}), w.register("birch", Caller{PID: 20})
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
	var taken *TakenError
	if _, err := q.Look(t.Context()); !errors.As(err, &taken) || taken.By != "original" {
		t.Errorf("error %v", err)
	}
}

func TestNobodyWaitsForOneWhoWaitsForHim(t *testing.T) {
	w := newWorld(t)
	amber, birch, cedar := w.register("amber", Caller{PID: 10}), w.register("birch", Caller{PID: 20}), w.register("cedar", Caller{PID: 30})
	first := w.ask(amber, "birch", "one?")
	refused := func(from Session, to string, says ...string) {
		t.Helper()
		_, err := w.Ask(t.Context(), from, inbox.Message{To: to, Content: "x"}, askTime)
		var circle *CircleError
		if !errors.As(err, &circle) {
			t.Fatalf("%s asks %s: %v", from.Alias, to, err)
		}
		for _, words := range says {
			if !strings.Contains(err.Error(), words) {
				t.Errorf("%q says nothing of %q", err, words)
			}
		}
	}
	refused(birch, "amber", "amber waits for your answer to "+inbox.ShortID(first.ID))
	second := w.ask(birch, "cedar", "two?")
	refused(cedar, "amber", "amber waits for birch, which waits for your answer to "+inbox.ShortID(second.ID))
	refused(cedar, "birch", inbox.ShortID(second.ID))
	w.wantMail(cedar.ID, "two?") // what was refused was not sent
	w.wantMail(amber.ID)

	second.kill()
	w.ask(cedar, "amber", "three?").Close(t.Context())
	first.Close(t.Context())
	if names, err := os.ReadDir(filepath.Join(w.Root(), askingDir)); err != nil || len(names) != 1 {
		t.Errorf("left of the killed one: %v, %v", names, err)
	}
	if _, err := w.Ask(t.Context(), birch, inbox.Message{To: "nobody", Content: "x"}, askTime); !errors.As(err, new(*UnknownAliasError)) {
		t.Errorf("nobody: %v", err)
	}
}

// A file in asking/ may be anybody's.
func TestOddFilesOfWaitsStopNobody(t *testing.T) {
	w := newWorld(t)
	amber, birch := w.register("amber", Caller{PID: 10}), w.register("birch", Caller{PID: 20})
	w.ask(amber, "birch", "one?").Close(t.Context())
	dir := filepath.Join(w.Root(), askingDir)
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "a-directory"), 0o700), os.Symlink("/etc/passwd", filepath.Join(dir, "a-link")),
		os.WriteFile(filepath.Join(dir, "garbage"), []byte(strings.Repeat("x\n", 1000)), 0o600)); err != nil {
		t.Fatal(err)
	}
	w.ask(birch, "amber", "two?").Close(t.Context())
}

// A look closes the lock file, and who waits for that looks again: so there is none while nothing can come of it.
func TestAnAnswerInAnothersHandsIsAwaitedAtRest(t *testing.T) {
	w := newWorld(t)
	amber, birch := w.register("amber", Caller{PID: 10}), w.register("birch", Caller{PID: 20})
	q := w.ask(amber, "birch", "one?")
	if _, err := w.answer(birch, q.ID); err != nil {
		t.Fatal(err)
	}
	l, err := w.box(amber.ID).LeaseAll(t.Context(), "other", 1)
	if err != nil || len(l.Messages) != 1 {
		t.Fatal(l, err)
	}
	w.wantAnswer(q, "")
	if stamp, err := w.box(amber.ID).Stamp(); err != nil || q.stamp != stamp {
		t.Errorf("it looks again at %q, %v", stamp, err)
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	w.wantAnswer(q, "the answer")
}
