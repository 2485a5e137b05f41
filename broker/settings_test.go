package broker

import (
	"testing"

	"c2c/wake"
)

// The server of a busy session may find no way to it at the moment when its hook announces the mail.
func TestWhatAHookHasAnnouncedIsNotAnnouncedAgainBecauseARingerFailed(t *testing.T) {
	w := newWorld(t)
	amber := w.register("amber", Caller{Explicit: "amber"})
	told := wake.Ring{Method: ByHook, Outcome: wake.Rang, Oldest: "m-1", From: "birch"}
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
		if got := w.factsOf(amber.ID).LastRing; got != tc.want {
			t.Errorf("%+v after %+v: %+v", tc.ring, tc.before, got)
		}
	}
}
