package broker

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestTheTimeOfAnAnswerNeverGoesBack(t *testing.T) {
	t.Parallel()
	w, amber, _ := pair(t)
	if at := w.lastAnswer(amber.ID); !at.IsZero() {
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
		if err := w.SawAnswer(amber.ID, step.at); err != nil {
			t.Fatal(err)
		}
		if at := w.lastAnswer(amber.ID); !at.Equal(step.want) {
			t.Errorf("told of %v: it has answered at %v, want %v", step.at, at, step.want)
		}
	}
}

// The first thing that is told may be an answer from before, out of a client's record.
func TestTheFirstAnswerMayBeOld(t *testing.T) {
	t.Parallel()
	w, amber, _ := pair(t)
	old := w.clock.Add(-time.Hour)
	if err := w.SawAnswer(amber.ID, old); err != nil {
		t.Fatal(err)
	}
	if at := w.lastAnswer(amber.ID); !at.Equal(old) {
		t.Errorf("it has answered at %v, want %v", at, old)
	}
}

func TestAnAnswerOfAWrongClockIsTakenBack(t *testing.T) {
	t.Parallel()
	for _, before := range []time.Duration{0, time.Second} {
		w, amber, _ := pair(t)
		if err := w.SawAnswer(amber.ID, time.Time{}); err != nil {
			t.Fatal(err)
		}
		if err := w.Dir().Touch(answeredName(amber.ID), w.clock.Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		if at := w.lastAnswer(amber.ID); !at.IsZero() {
			t.Errorf("an answer of %v counts", at)
		}
		want := w.clock.Add(-before)
		if err := w.SawAnswer(amber.ID, want); err != nil {
			t.Fatal(err)
		}
		if at := w.lastAnswer(amber.ID); !at.Equal(want) {
			t.Errorf("it has answered at %v, want %v", at, want)
		}
	}
}

func TestAnAnswerMakesAFailureVoid(t *testing.T) {
	t.Parallel()
	w, amber, _ := pair(t)
	if err := w.SawAnswer(amber.ID, time.Time{}); err != nil {
		t.Fatal(err)
	}
	w.pass(time.Second)
	failed := w.clock
	if err := w.SawFailure(t.Context(), amber, "server_error"); err != nil {
		t.Fatal(err)
	}
	w.pass(time.Second)
	if err := w.SawAnswer(amber.ID, failed.Add(-time.Millisecond)); err != nil { // it was told late, and was before
		t.Fatal(err)
	}
	if why, at := w.failure(amber.ID); why != "server_error" || !at.Equal(failed) {
		t.Errorf("it failed by %q at %v", why, at)
	}
	if err := w.SawAnswer(amber.ID, time.Time{}); err != nil {
		t.Fatal(err)
	}
	if why, _ := w.failure(amber.ID); why != "" {
		t.Errorf("%q stands behind an answer", why)
	}
}

func TestWhyAModelFailedIsOneShortLine(t *testing.T) {
	t.Parallel()
	w, amber, _ := pair(t)
	for _, why := range []string{"", " \n\t", "a\nb\x1b[2J", strings.Repeat("ä", 1<<20), "x" + strings.Repeat("ä", 1<<10), "\xff\xfe"} {
		if err := w.SawFailure(t.Context(), amber, why); err != nil {
			t.Fatal(err)
		}
		got, _ := w.failure(amber.ID)
		if got == "" || len(got) > maxFailure || !utf8.ValidString(got) || strings.ContainsAny(got, "\n\x1b") {
			t.Errorf("of %.20q is kept %q", why, got)
		}
	}
}
