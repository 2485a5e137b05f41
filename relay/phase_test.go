package relay

import "testing"

func TestALinkDecidesAboutEveryPhase(t *testing.T) {
	for phase, next := range transitions {
		if to, ok := next[onLoss]; phase != away && (!ok || to != away) {
			t.Errorf("phase %d outlives its link", phase)
		}
		if to, ok := next[onLink]; phase != fresh && (!ok || to != fresh) {
			t.Errorf("phase %d does not begin anew with a new link", phase)
		}
		for event, to := range next {
			if transitions[to] == nil {
				t.Errorf("no event ends the phase %d, which event %d begins", to, event)
			}
		}
	}
	// The new link was made while a step failed on the one before.
	if _, ok := transitions[fresh][onAway]; ok {
		t.Error("a new link is lost with the one before")
	}
}
