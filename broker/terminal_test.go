package broker_test

import (
	"testing"

	"c2c/sessions/callers"
)

// Any program may set the variable from which a hook takes the client's process.
func TestAVariableNamesOnlyAClientAboveTheHook(t *testing.T) {
	w := newTableWorld(t) // the hook is 100, below 90
	c := callers.Caller{Client: "claude", ClientID: "c-1", ByHook: true, PID: 10}
	if s := w.attach(c); s.Process != 0 {
		t.Errorf("bound to %d, which is not above the hook", s.Process)
	}
	victim := w.attach(callers.Caller{Client: "claude", ClientID: "c-2", PID: 20})
	c.PID, c.ClientID = 20, "c-3"
	if s := w.attach(c); s.ID == victim.ID {
		t.Error("a conversation came into the session of another process")
	}
	c.PID, c.ClientID = 90, "c-2"
	if s := w.attach(c); s.ID != victim.ID || s.Process != 90 {
		t.Errorf("resumed above the hook: %s with %d, want %s", s.ID, s.Process, victim.ID)
	}
}
