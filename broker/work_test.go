package broker

import (
	"testing"
	"time"
)

// The first tool call that a client tells of may be one of c2c's, right behind a person's prompt or c2c resume.
func TestACallOfOursForgetsNoWork(t *testing.T) {
	t.Parallel()
	w, amber, birch := pair(t)
	if err := w.SawWork(amber.ID, false); err != nil {
		t.Fatal(err)
	}
	worked := w.clock
	w.pass(time.Minute)
	for _, s := range []Session{amber, birch} {
		if err := w.SeesTools(s.ID); err != nil {
			t.Fatal(err)
		}
	}
	if did := w.workOf(amber.ID); !did.tools || !did.since(worked) {
		t.Errorf("the person's prompt is forgotten: %+v", did)
	}
	if did := w.workOf(birch.ID); !did.tools || did.since(worked) {
		t.Errorf("the call counts as work: %+v", did)
	}
}
