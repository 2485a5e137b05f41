package broker_test

import (
	"encoding/json"
	"slices"
	"testing"

	"c2c/inbox"
	"c2c/sessions/callers"
	"c2c/wake"
)

// The OCaml c2c writes the process of a session, and no facts.
func TestAModThatHasSaidNothingIsNotSeen(t *testing.T) {
	w := newWorld(t)
	w.writeRegistry(`[{"session_id":"s","alias":"amber","client_type":"claude",` + w.process(10) + `}]`)
	s, err := callers.Resolve(t.Context(), w.Registry, callers.Caller{Explicit: "amber"})
	if err != nil || s.Process != w.pid(10) || s.HasMod() {
		t.Errorf("process %d, mod %v, %v", s.Process, s.HasMod(), err)
	}
}

// Both have read the session before either has written.
func TestTwoHooksAtOnceForgetNothingThatAPersonIsToBeTold(t *testing.T) {
	t.Parallel()
	w, amber, _ := pair(t)
	change := func(told, unseen []string) []string {
		t.Helper()
		if err := w.Facts.ChangeUnseen(t.Context(), amber.ID, told, unseen); err != nil {
			t.Fatal(err)
		}
		s, err := callers.Resolve(t.Context(), w.Registry, callers.Caller{Explicit: amber.ID})
		if err != nil {
			t.Fatal(err)
		}
		return s.Unseen
	}
	change(nil, []string{"one"})
	if left := change(nil, []string{"two"}); !slices.Equal(left, []string{"one", "two"}) {
		t.Errorf("it has %q", left)
	}
	if left := change([]string{"one"}, nil); !slices.Equal(left, []string{"two"}) {
		t.Errorf("after one was told it has %q", left)
	}
}

// The server of a busy session may find no way to it at the moment when its hook announces the
// mail.
func TestWhatAHookHasAnnouncedIsNotAnnouncedAgainBecauseARingerFailed(t *testing.T) {
	w := newWorld(t)
	amber := w.register("amber", callers.Caller{Explicit: "amber"})
	told := wake.Ring{Method: inbox.ByHook, Outcome: wake.Rang, Oldest: "m-1", From: "birch"}
	failed := wake.Ring{Method: wake.ByQueue, Outcome: wake.Failed, Oldest: "m-1", From: "birch"}
	next := wake.Ring{Method: wake.ByQueue, Outcome: wake.Failed, Oldest: "m-2", From: "birch"}
	rang := wake.Ring{Method: wake.ByServer, Outcome: wake.Rang, Oldest: "m-1", From: "birch"}
	for _, tc := range []struct{ before, ring, want wake.Ring }{
		{told, failed, told}, {told, next, next}, {told, rang, rang}, {failed, told, told}, {rang, failed, failed},
	} {
		for _, ring := range []wake.Ring{{}, tc.before, tc.ring} {
			if err := w.Rang(t.Context(), amber.ID, ring); err != nil {
				t.Fatal(err)
			}
		}
		f := struct {
			LastRing wake.Ring `json:"last_ring"`
		}{}
		if err := json.Unmarshal([]byte(w.file("sessions/"+amber.ID+".json")), &f); err != nil {
			t.Fatal(err)
		}
		if got := f.LastRing; got != tc.want {
			t.Errorf("%+v after %+v: %+v", tc.ring, tc.before, got)
		}
	}
}
