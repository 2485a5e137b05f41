package broker_test

import (
	"testing"
	"time"

	"c2c/broker/deadlines"
	"c2c/broker/owed"
	"c2c/inbox/mail"
	"c2c/sessions"
	"c2c/wake"
)

const days30 = 30 * 24 * time.Hour

// A message was sent while the clock was ahead. It is told of in time all the same, and not a month later.
func TestAMessageFromTheFutureIsToldOfInTime(t *testing.T) {
	t.Parallel()
	w, amber, birch := pair(t)
	w.pass(days30)
	w.send(amber, "birch", "x")
	w.put(amber, "birch", mail.Message{Content: "gone soon", ExpiresAt: mail.Seconds(w.clock.Add(5 * time.Minute))})
	w.pass(-days30)
	k := deadlines.NewChecker(w.Registry)
	if wait := w.look(k); wait <= 0 || wait > 5*time.Minute {
		t.Errorf("looks again after %v", wait)
	}
	w.wantNotices(amber.ID)
	w.pass(5 * time.Minute)
	w.look(k)
	w.wantNotices(amber.ID, "has expired")
	w.wantMail(birch.ID, "x")
	w.pass(25 * time.Minute)
	w.look(k)
	w.wantNotices(amber.ID, "has expired", "has not read")
}

// A command has not seen when the clock was set right. It tells the sender once, and takes nothing away.
func TestACommandTellsOfAMessageFromTheFuture(t *testing.T) {
	t.Parallel()
	w, amber, birch := pair(t)
	w.pass(days30)
	w.put(amber, "birch", mail.Message{Content: "x", ExpiresAt: mail.Seconds(w.clock.Add(time.Hour))})
	w.pass(-days30)
	for range 3 {
		w.once()
		w.pass(time.Hour)
	}
	w.wantNotices(amber.ID, "has not read")
	w.wantMail(birch.ID, "x")
}

// A ring that was recorded while the clock was ahead is not that of each later message.
func TestARingFromTheFutureIsForNoMessage(t *testing.T) {
	t.Parallel()
	for _, outcome := range []string{wake.Rang, wake.Refused} {
		w, amber, birch := pair(t)
		if err := w.Rang(t.Context(), birch.ID, wake.Ring{At: w.clock.Add(days30), Method: "socket", Outcome: outcome}); err != nil {
			t.Fatal(err)
		}
		r := w.put(amber, "birch", mail.Message{Content: "x"})
		if st, err := w.Status(t.Context(), r.ID); err != nil || st.State != sessions.Queued || !st.LastRing.At.IsZero() {
			t.Errorf("%s: status %+v, %v", outcome, st, err)
		}
		k := deadlines.NewChecker(w.Registry)
		if wait := w.look(k); wait > owed.TellAfter {
			t.Errorf("%s: looks again after %v", outcome, wait)
		}
	}
}

// clockAhead returns a checker that has seen the clock go a month ahead in one second.
func (w *world) clockAhead() *deadlines.Checker {
	w.t.Helper()
	k := deadlines.NewChecker(w.Registry)
	k.Clock.Elapsed = func(time.Time, time.Time) time.Duration { return time.Second }
	w.look(k)
	w.pass(days30)
	if wait := w.look(k); wait <= 0 || wait > clockCalm {
		w.t.Errorf("looks again after %v", wait)
	}
	return k
}

// The clock goes ahead by itself: nothing is told or taken away until it is clear that it stays so.
func TestACheckerWaitsWhenTheClockHasGoneAhead(t *testing.T) {
	t.Parallel()
	for name, stays := range map[string]bool{"it is set back": false, "it stays": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, amber, birch, _ := asks(t, mail.Message{Kind: "question"})
			w.put(amber, "birch", mail.Message{Content: "a day", ExpiresAt: mail.Seconds(w.clock.Add(24 * time.Hour))})
			k := w.clockAhead()
			w.wantNotices(amber.ID)
			w.wantDead()
			if !stays {
				w.pass(time.Minute - days30)
				w.look(k)
				w.wantNotices(amber.ID)
				w.wantMail(birch.ID, "which port", "a day")
				return
			}
			k.Clock.Elapsed = func(from, to time.Time) time.Duration { return to.Sub(from) }
			w.pass(clockCalm)
			w.look(k)
			if got := w.notices(amber.ID); len(got) != 2 {
				t.Errorf("notices %q", got)
			}
			w.wantDead("a day (refused)")
		})
	}
}

// Only mail for another machine waits: the Checker looks again when the clock is known to be right.
func TestACheckerLooksAtOutboxesAfterTheClockHasGoneAhead(t *testing.T) {
	t.Parallel()
	w, birch := paired(t)
	w.put(birch, "amber@devbox", mail.Message{Content: "a day", ExpiresAt: mail.Seconds(w.clock.Add(24 * time.Hour))})
	k := w.clockAhead()
	k.Clock.Elapsed = func(from, to time.Time) time.Duration { return to.Sub(from) }
	w.pass(clockCalm)
	w.look(k)
	if got := w.notices(birch.ID); len(got) != 1 {
		t.Errorf("notices %q", got)
	}
}
