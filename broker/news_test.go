package broker_test

import (
	"strings"
	"testing"
	"time"

	"c2c/broker"
	"c2c/broker/moves"
	"c2c/broker/owed"
	"c2c/inbox/mail"
	"c2c/sessions"
	"c2c/sessions/callers"
)

// wantTold looks whether a status says what the sender of a message was told.
func (w *world) wantTold(id string, reasons ...string) {
	w.t.Helper()
	st, err := w.Status(w.t.Context(), id)
	var got []string
	for _, t := range st.Told {
		got = append(got, t.Reason)
	}
	if err != nil || strings.Join(got, " ") != strings.Join(reasons, " ") {
		w.t.Errorf("told %q, %v; want %q", got, err, reasons)
	}
}

// What a sender is to be told of several messages, of several receivers, is one notice, and the
// status of each tells of it.
func TestASenderIsToldTogether(t *testing.T) {
	t.Parallel()
	w, amber, _ := pair(t)
	w.register("coral", callers.Caller{Client: "gem", PID: w.pid(30)})
	k := owed.NewChecker(w.Registry)
	first := w.put(amber, "birch", mail.Message{Content: "one"})
	w.pass(time.Minute)
	later := []broker.Receipt{w.put(amber, "birch", mail.Message{Content: "two"}), w.put(amber, "birch", mail.Message{Content: "three"}), w.put(amber, "coral", mail.Message{Content: "four"})}
	w.pass(owed.TellAfter - time.Minute)
	w.look(k)
	w.wantNotices(amber.ID, `birch has not read your message "one"`)
	w.pass(2 * time.Minute)
	if wait := w.look(k); wait <= 0 || wait > 2*tellGap {
		t.Errorf("looks again after %v", wait)
	}
	w.wantNotices(amber.ID, `"one"`)
	w.ends(30) // of which it is told at once, and of the rest with it
	w.look(k)
	w.pass(endedAfter)
	w.look(k)
	for range 3 {
		w.pass(tellGap)
		w.look(k)
		w.look(owed.NewChecker(w.Registry)) // another one, that knows nothing of the first
	}
	told := w.notices(amber.ID)
	if len(told) != 2 || strings.Contains(told[1], `"one"`) || !strings.Contains(told[1], `birch has not read your messages "two" (`) ||
		!strings.Contains(told[1], `"three" (`) || !strings.Contains(told[1], `coral has ended without reading your message "four" (`) {
		t.Errorf("told %q", told)
	}
	w.wantTold(first.ID, owed.Unread)
	w.wantTold(later[0].ID, owed.Unread)
	w.wantTold(later[1].ID, owed.Unread)
	w.wantTold(later[2].ID, owed.Ended)
	w.read(amber.ID)
	w.wantTold(later[1].ID, owed.Unread)
}

// What was read while its sender was left alone is no news any more.
func TestWhatWasReadMeanwhileIsNoNews(t *testing.T) {
	t.Parallel()
	w, amber, birch := pair(t)
	k := owed.NewChecker(w.Registry)
	w.put(amber, "birch", mail.Message{Content: "one"})
	w.pass(time.Minute)
	second := w.put(amber, "birch", mail.Message{Content: "two"})
	w.pass(owed.TellAfter)
	w.look(k) // of both
	w.wantNotices(amber.ID, `"one"`)
	third := w.put(amber, "birch", mail.Message{Content: "three"})
	w.pass(owed.TellAfter)
	w.look(k)
	w.read(birch.ID)
	w.pass(2 * tellGap)
	w.look(k)
	w.wantNotices(amber.ID, `"two"`)
	w.wantTold(second.ID, owed.Unread)
	w.wantTold(third.ID)
}

// Who has said when it wants to hear is told then, and of the rest with it.
func TestASenderThatHasSaidWhenIsToldThen(t *testing.T) {
	t.Parallel()
	w, amber, _ := pair(t)
	k := owed.NewChecker(w.Registry)
	w.put(amber, "birch", mail.Message{Content: "one"})
	w.pass(time.Minute)
	w.put(amber, "birch", mail.Message{Content: "two"})
	w.pass(owed.TellAfter - time.Minute)
	w.look(k)
	w.wantNotices(amber.ID, `"one"`)
	w.pass(time.Minute)
	w.put(amber, "birch", mail.Message{Content: "three", TellAfter: 60})
	w.pass(time.Minute)
	w.look(k)
	w.wantNotices(amber.ID, `"one"`, `your messages "two"`)
}

// A sender that is gone reads nothing: it is told when it is back, of what still waits then.
func TestASenderThatIsGoneIsToldWhenItIsBack(t *testing.T) {
	t.Parallel()
	w, amber, _ := pair(t)
	k := owed.NewChecker(w.Registry)
	w.put(amber, "birch", mail.Message{Content: "one"})
	w.ends(10)
	w.pass(5 * time.Hour)
	w.look(k)
	w.wantNotices(amber.ID)
	w.starts(10)
	w.register("amber", callers.Caller{Client: "claude", ClientID: "a", PID: w.pid(10)})
	w.look(k)
	w.wantNotices(amber.ID, `"one"`)
}

// Several that expire, or die, together are told together.
func TestWhatExpiresTogetherIsToldTogether(t *testing.T) {
	t.Parallel()
	w, amber, _ := pair(t)
	var all []broker.Receipt
	for _, words := range []string{"one", "two"} {
		all = append(all, w.put(amber, "birch", mail.Message{Content: words, ExpiresAt: mail.Seconds(w.clock.Add(time.Minute))}))
	}
	all = append(all, w.put(amber, "birch", mail.Message{Content: "three", TellAfter: -1}), w.put(amber, "birch", mail.Message{Content: "four"}),
		w.put(amber, "birch", mail.Message{Content: "five"}))
	w.pass(time.Hour)
	w.look(owed.NewChecker(w.Registry))
	told := w.notices(amber.ID)
	if len(told) != 2 || !strings.Contains(told[0], `birch did not read your messages "one" (`) {
		t.Errorf("told %q", told)
	}
	w.ends(20)
	w.pass(time.Hour)
	if _, err := moves.Sweep(t.Context(), w.Registry, time.Minute); err != nil {
		t.Fatal(err)
	}
	if told = w.notices(amber.ID); len(told) != 3 || !strings.Contains(told[2], `Nobody has read your messages "four" (`) {
		t.Errorf("told %q", told)
	}
	w.wantTold(all[0].ID, owed.Expired)
	w.wantTold(all[1].ID, owed.Expired)
	w.wantTold(all[2].ID)
	w.wantTold(all[4].ID, owed.Unread, sessions.Dead)
}

// Who was told that nobody has read the question need not hear that nobody answers it.
func TestAnAskerIsToldOnceOfASessionThatHasEnded(t *testing.T) {
	t.Parallel()
	w, amber, birch, _ := asks(t, mail.Message{Kind: "question"})
	k := owed.NewChecker(w.Registry)
	w.ends(20)
	for range 8 {
		w.look(k)
		w.pass(time.Hour)
	}
	w.wantReminders(birch.ID, 0)
	w.wantNotices(amber.ID, "has ended without reading")
}

// That something waits which asks for nothing is worth half as many notices as that a question
// does.
func TestASenderIsLeftAloneForLongerWhenItWaitsForNothing(t *testing.T) {
	t.Parallel()
	for kind, gap := range map[string]time.Duration{"": 2 * tellGap, "question": tellGap} {
		w, amber, _ := pair(t)
		k := owed.NewChecker(w.Registry)
		w.put(amber, "birch", mail.Message{Content: "one"})
		w.pass(owed.TellAfter)
		w.look(k)
		later := w.put(amber, "birch", mail.Message{Kind: kind, Content: "two"})
		w.pass(gap - time.Minute)
		w.look(k)
		w.wantNotices(amber.ID, `"one"`)
		w.wantTold(later.ID)
		w.pass(time.Minute)
		w.look(k)
		w.wantTold(later.ID, owed.Unread)
	}
}
