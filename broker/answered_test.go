package broker_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"c2c/inbox/mail"
	"c2c/internal/format"
	"c2c/sessions"
)

func TestTheTimeOfAnAnswerNeverGoesBack(t *testing.T) {
	t.Parallel()
	w, amber, _ := expecting(t)
	if at, _ := sessions.LastAnswer(w.Registry, amber.ID); !at.IsZero() {
		t.Fatalf("it has answered at %v", at)
	}
	first := w.clock
	for _, step := range []struct {
		pass     time.Duration
		at, want time.Time
	}{
		{0, time.Time{}, first},
		{time.Minute, first.Add(-time.Second), first},
		{0, first.Add(time.Second), first.Add(time.Second)},
		{0, first.Add(time.Hour), first.Add(time.Minute)}, // nobody answers in the future
		{time.Minute, time.Time{}, first.Add(2 * time.Minute)},
	} {
		w.pass(step.pass)
		if err := sessions.SawAnswer(w.Registry, amber.ID, step.at); err != nil {
			t.Fatal(err)
		}
		if at, _ := sessions.LastAnswer(w.Registry, amber.ID); !at.Equal(step.want) {
			t.Errorf("told of %v: it has answered at %v, want %v", step.at, at, step.want)
		}
	}
}

// expecting are two sessions whose answers will be told.
func expecting(t *testing.T) (w *world, amber, birch sessions.Session) {
	t.Helper()
	w, amber, birch = pair(t)
	for _, s := range []sessions.Session{amber, birch} {
		if err := sessions.ExpectAnswers(w.Registry, s.ID); err != nil {
			t.Fatal(err)
		}
	}
	return w, amber, birch
}

// The first thing that is told may be an answer from before, out of a client's record.
func TestTheFirstAnswerMayBeOld(t *testing.T) {
	t.Parallel()
	w, amber, _ := expecting(t)
	old := w.clock.Add(-time.Hour)
	if err := sessions.SawAnswer(w.Registry, amber.ID, old); err != nil {
		t.Fatal(err)
	}
	if at, _ := sessions.LastAnswer(w.Registry, amber.ID); !at.Equal(old) {
		t.Errorf("it has answered at %v, want %v", at, old)
	}
}

func TestAnAnswerMakesAFailureVoid(t *testing.T) {
	t.Parallel()
	w, amber, _ := expecting(t)
	if err := sessions.SawAnswer(w.Registry, amber.ID, time.Time{}); err != nil {
		t.Fatal(err)
	}
	w.pass(time.Second)
	failed := w.clock
	if err := sessions.SawFailure(t.Context(), w.Registry, amber.ID, "server_error"); err != nil {
		t.Fatal(err)
	}
	w.pass(time.Second)
	if err := sessions.SawAnswer(w.Registry, amber.ID, failed.Add(-time.Millisecond)); err != nil { // it was told late, and was before
		t.Fatal(err)
	}
	if why, at := sessions.ModelFailure(w.Registry, amber.ID); why != "server_error" || !at.Equal(failed) {
		t.Errorf("it failed by %q at %v", why, at)
	}
	if err := sessions.SawAnswer(w.Registry, amber.ID, time.Time{}); err != nil {
		t.Fatal(err)
	}
	if why, _ := sessions.ModelFailure(w.Registry, amber.ID); why != "" {
		t.Errorf("%q stands behind an answer", why)
	}
}

func TestWhyAModelFailedIsOneShortLine(t *testing.T) {
	t.Parallel()
	w, amber, _ := expecting(t)
	for _, why := range []string{"", " \n\t", "a\nb\x1b[2J", strings.Repeat("ä", 1<<20), "x" + strings.Repeat("ä", 1<<10), "\xff\xfe"} {
		if err := sessions.SawFailure(t.Context(), w.Registry, amber.ID, why); err != nil {
			t.Fatal(err)
		}
		got, _ := sessions.ModelFailure(w.Registry, amber.ID)
		if got == "" || len(got) > maxFailure || !utf8.ValidString(got) || strings.ContainsAny(got, "\n\x1b") {
			t.Errorf("of %.20q is kept %q", why, got)
		}
	}
}

// Read means that the model has answered since: a request that failed does not.
func TestMailIsReadWhenTheModelHasAnswered(t *testing.T) {
	t.Parallel()
	w, amber, birch := expecting(t)
	id := w.put(amber, "birch", mail.Message{Content: "x"}).ID
	w.read(birch.ID)
	is := func(state, why string) {
		t.Helper()
		st, err := w.Status(t.Context(), id)
		if err != nil || st.State != state || !strings.Contains(st.Sentence(), why) {
			t.Errorf("it is %q: %s, %v", st.State, st.Sentence(), err)
		}
	}
	is(sessions.Handed, "its model has not answered since")
	w.pass(time.Second)
	if err := sessions.SawFailure(t.Context(), w.Registry, birch.ID, "server_error"); err != nil {
		t.Fatal(err)
	}
	is(sessions.Handed, "its model failed")
	is(sessions.Handed, ": server_error")
	w.pass(time.Second)
	if err := sessions.SawAnswer(w.Registry, birch.ID, time.Time{}); err != nil {
		t.Fatal(err)
	}
	is(sessions.Read, "read")
}

// Of a session that nothing tells about, handed over is all that there is to know.
func TestMailOfAClientThatTellsNothingIsReadAtOnce(t *testing.T) {
	t.Parallel()
	w, amber, birch := pair(t)
	id := w.put(amber, "birch", mail.Message{Content: "x"}).ID
	w.read(birch.ID)
	if err := sessions.SawAnswer(w.Registry, birch.ID, time.Time{}); err != nil {
		t.Fatal(err)
	}
	if st, err := w.Status(t.Context(), id); err != nil || st.State != sessions.Read {
		t.Errorf("it is %q, %v", st.State, err)
	}
	if _, told := sessions.LastAnswer(w.Registry, birch.ID); told {
		t.Error("an answer that nobody expected is recorded")
	}
}

// A turn may be over before the receipt of the mail that began it.
func TestAReceiptMayComeBehindTheAnswer(t *testing.T) {
	t.Parallel()
	w, amber, birch := expecting(t)
	id := w.put(amber, "birch", mail.Message{Content: "x"}).ID
	began := w.clock
	w.pass(time.Second)
	if err := sessions.SawAnswer(w.Registry, birch.ID, time.Time{}); err != nil {
		t.Fatal(err)
	}
	w.pass(time.Second)
	w.read(birch.ID)
	for _, tc := range []struct {
		began time.Time
		want  string
	}{{w.clock, sessions.Handed}, {began, sessions.Read}} {
		w.pass(time.Second)
		if err := sessions.SawAnswerSince(w.Registry, birch.ID, tc.began); err != nil {
			t.Fatal(err)
		}
		if st, err := w.Status(t.Context(), id); err != nil || st.State != tc.want {
			t.Errorf("it is %q, want %q: %v", st.State, tc.want, err)
		}
	}
}

// The time of "read" is that of an answer, never that of the hand-over. c2c keeps only the time of
// the newest answer, so the first one may have been earlier.
func TestReadHasNotTheTimeOfTheHandOver(t *testing.T) {
	t.Parallel()
	w, amber, birch := expecting(t)
	id := w.put(amber, "birch", mail.Message{Content: "x"}).ID
	w.read(birch.ID)
	handed := w.clock.Truncate(time.Microsecond) // as the archive has it
	for range 2 {
		w.pass(12 * time.Second)
		if err := sessions.SawAnswer(w.Registry, birch.ID, time.Time{}); err != nil {
			t.Fatal(err)
		}
		st, err := w.Status(t.Context(), id)
		if err != nil || st.State != sessions.Read || !st.At.Equal(w.clock) || !st.HandedAt.Equal(handed) {
			t.Fatalf("%q since %v, handed at %v: %v", st.State, st.At, st.HandedAt, err)
		}
		at := func(at time.Time) string { return format.Clock(at, w.clock) }
		if got, want := st.Became(w.clock), "read after "+at(handed); got != want {
			t.Errorf("it is %q, want %q", got, want)
		}
		if got, want := st.Sentence(), "handed at "+at(handed)+" by its hook; read since then: its model last answered at "+at(w.clock); !strings.HasSuffix(got, want) {
			t.Errorf("its way is %q, want %q", got, want)
		}
		sent, err := w.Outbox(t.Context(), amber, 1)
		if err != nil || len(sent) != 1 || !sent[0].Status.At.Equal(w.clock) || !sent[0].Status.HandedAt.Equal(handed) {
			t.Errorf("in the outbox: %+v, %v", sent, err)
		}
		if line, err := sent[0].MarshalJSON(); err != nil || !strings.Contains(string(line), `"handed_at":"`+handed.UTC().Format(time.RFC3339Nano)) {
			t.Errorf("as JSON: %s, %v", line, err)
		}
	}
}
