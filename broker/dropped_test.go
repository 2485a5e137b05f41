package broker_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"c2c/inbox/mail"
	"c2c/sessions"
	"c2c/sessions/callers"
	"c2c/sessions/turns"
)

// What a client drops with a request that failed waits again, and comes once more, until it is answered.
func TestWhatAClientDropsComesAgain(t *testing.T) {
	t.Parallel()
	w, amber, birch := expecting(t)
	var ids []string
	for _, text := range []string{"one", "two", "three"} {
		w.pass(time.Second)
		ids = append(ids, w.put(amber, "birch", mail.Message{Content: text}).ID)
		w.read(birch.ID)
		if text == "one" {
			w.pass(time.Second)
			if err := turns.SawAnswer(w.Registry, birch.ID, time.Time{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	now := func() sessions.Session {
		t.Helper()
		s, err := callers.Resolve(t.Context(), w.Registry, callers.Caller{Explicit: birch.ID})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	again := func(dropped func(mail.Message) bool, want ...string) {
		t.Helper()
		msgs, err := turns.SawDropped(t.Context(), w.Registry, now(), dropped)
		var got []string
		for _, m := range msgs {
			got = append(got, m.Content)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("again come %q, want %q: %v", got, want, err)
		}
	}
	again(nil)
	again(func(m mail.Message) bool { return m.Content != "two" }, "three") // its model has answered the first
	again(func(m mail.Message) bool { return true }, "two", "three")
	again(nil, "two", "three")
	if st, err := w.Status(t.Context(), ids[1]); err != nil || st.State != sessions.Queued || !strings.Contains(st.Why, "dropped") {
		t.Errorf("it is %q: %s, %v", st.State, st.Why, err)
	}
	if err := turns.HandedAgain(t.Context(), w.Registry, now(), ids[1:2]); err != nil {
		t.Fatal(err)
	}
	if st, err := w.Status(t.Context(), ids[1]); err != nil || st.State != sessions.Handed {
		t.Errorf("it is %q, %v", st.State, err)
	}
	again(nil, "three")
	if err := turns.HandedAgain(t.Context(), w.Registry, now(), ids); err != nil {
		t.Fatal(err)
	}
	again(nil)
	w.pass(time.Second)
	if err := turns.SawAnswer(w.Registry, birch.ID, time.Time{}); err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		if st, err := w.Status(t.Context(), id); err != nil || st.State != sessions.Read {
			t.Errorf("it is %q, %v", st.State, err)
		}
	}
}
