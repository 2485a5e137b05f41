package broker_test

import (
	"errors"
	"testing"

	"c2c/sessions/callers"
)

// The process of this test stands in a session that some process leads, above it or not: the table has none of them.
func TestAClientThatCannotBeSeenProvesNothing(t *testing.T) {
	w := newTableWorld(t)
	s := w.attach(callers.Caller{Client: "claude", ClientID: "c-1", PID: w.pid(10)})
	if err := callers.ProveTerminal(w.Registry, s); !errors.Is(err, callers.ErrTerminal) {
		t.Errorf("without a terminal: %v", err)
	}
	if err := callers.ProveTerminal(w.Registry); err != nil {
		t.Errorf("without a session: %v", err)
	}
	s.Facts.Namespace = "pid:[2] boot machine"
	if err := callers.ProveTerminal(w.Registry, s); err != nil {
		t.Errorf("of another namespace: %v", err)
	}
}
