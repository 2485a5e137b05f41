package broker_test

import (
	"testing"
	"time"

	"c2c/sessions"
)

// The first tool call that a client tells of may be one of c2c's, right behind a person's prompt or
// c2c resume.
func TestACallOfOursForgetsNoWork(t *testing.T) {
	t.Parallel()
	w, amber, birch := pair(t)
	if err := sessions.SawWork(w.Registry, amber.ID, false); err != nil {
		t.Fatal(err)
	}
	worked := w.clock
	w.pass(time.Minute)
	for _, s := range []sessions.Session{amber, birch} {
		if err := sessions.SeesTools(w.Registry, s.ID); err != nil {
			t.Fatal(err)
		}
	}
	if did := sessions.WorkOf(w.Registry, amber.ID); !did.Tools || !did.Since(worked) {
		t.Errorf("the person's prompt is forgotten: %+v", did)
	}
	if did := sessions.WorkOf(w.Registry, birch.ID); !did.Tools || did.Since(worked) {
		t.Errorf("the call counts as work: %+v", did)
	}
}
