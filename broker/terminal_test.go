package broker_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"c2c/sessions/callers"
	"c2c/sessions/processes"
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

// A session knows its former processes as long as they may run, so that a younger process does not make its client younger.
func TestAFormerProcessCountsWhileItRuns(t *testing.T) {
	w := newTableWorld(t)
	binds := func(pid int, want ...int64) {
		t.Helper()
		s := w.attach(callers.Caller{Client: "claude", ClientID: "c-1", PID: pid})
		if got := callers.Starts(w.Registry, s); !slices.Equal(got, want) {
			t.Errorf("bound to %d: the processes started at %v, want %v", pid, got, want)
		}
	}
	binds(20, 2)
	binds(30, 3, 2)
	lines, err := w.Events.Tail(t.Context(), 1)
	if want := `"event":"rebind","session_id":"` + w.attach(callers.Caller{Client: "claude", ClientID: "c-1", PID: 30}).ID + `","pid":"30","former_pid":"20"}`; err != nil ||
		len(lines) != 1 || !strings.HasSuffix(string(lines[0]), want) {
		t.Errorf("broker.log ends with %s, %v, want %s", lines, err, want)
	}
	binds(90, 6, 2, 3)
	w.Processes = elsewhere{w.table}
	w.attach(callers.Caller{Client: "claude", ClientID: "c-1", PID: 30}) // from a container, which does not see 20
	w.Processes = w.table
	binds(90, 6, 2, 3)
	binds(10, 1, 2, 3, 6) // an older one, for example the shell above the client: it may end before the client does
	delete(w.table, 90)
	binds(20, 2, 3, 1)
	delete(w.table, 10)
	binds(30, 3, 2)
	delete(w.table, 30) // the later window is closed, and the first one still runs
	s, err := callers.Resolve(t.Context(), w.Registry, callers.Caller{Client: "claude", ClientID: "c-1"})
	if err != nil || s.Process != 0 || !slices.Equal(callers.Starts(w.Registry, s), []int64{2}) {
		t.Errorf("after the later window has ended: %v, %d, %v", err, s.Process, callers.Starts(w.Registry, s))
	}
}

// numbered is a table of processes in a PID namespace of its own.
type numbered struct {
	processes.Table
	number int
}

func (n numbered) Namespace() string { return fmt.Sprintf("pid:[%d]", n.number) }

// Nobody sees from outside whether a process of a container has ended. Many of them do not push out the client.
func TestASessionStaysAtItsProcessIfItCannotKeepTheFormerOnes(t *testing.T) {
	w := newTableWorld(t)
	c := callers.Caller{Client: "claude", ClientID: "c-1", PID: 20}
	sid := w.attach(c).ID
	for i := range 40 {
		w.Processes, c.PID = numbered{w.table, 100 + i}, 30
		w.attach(c)
	}
	w.Processes = w.table
	delete(w.table, 20)
	w.table[50] = processes.Process{PID: 50, Parent: 1, Start: 50} // the client is started again
	c.PID = 50
	w.attach(c)
	w.table[60] = processes.Process{PID: 60, Parent: 1, Start: 60}
	c.PID = 60
	if s := w.attach(c); s.ID != sid || s.Process != 50 || !slices.Equal(callers.Starts(w.Registry, s), []int64{50}) {
		t.Errorf("session %s is bound to %d, and its processes started at %v", s.ID, s.Process, callers.Starts(w.Registry, s))
	}
	lines, err := w.Events.Tail(t.Context(), 1)
	if want := `"event":"rebind_refused","session_id":"` + sid + `","pid":"60","former_pid":"50"}`; err != nil || len(lines) != 1 || !strings.HasSuffix(string(lines[0]), want) {
		t.Errorf("broker.log ends with %s, %v, want %s", lines, err, want)
	}
}

// A client has left a session (/resume), and the session that it has now loses its row: the client still runs.
func TestAProcessThatASessionHasLostCountsWhileItRuns(t *testing.T) {
	w := newTableWorld(t)
	at := func(id string, pid int) string {
		t.Helper()
		return w.attach(callers.Caller{Client: "claude", ClientID: id, PID: pid}).Alias
	}
	left := at("c-1", 20)
	at("c-2", 30)
	at("c-2", 20)
	now := at("c-2", 30)
	delete(w.table, 30)
	w.register(now, callers.Caller{Client: "codex", PID: 10})
	all, err := w.Sessions(t.Context())
	for _, s := range all {
		if want := map[string]int64{left: 2, now: 1}[s.Alias]; !slices.Equal(callers.Starts(w.Registry, s), []int64{want}) {
			t.Errorf("the processes of %s started at %v, want %d", s.Alias, callers.Starts(w.Registry, s), want)
		}
	}
	if err != nil || len(all) != 2 {
		t.Errorf("%d sessions, %v", len(all), err)
	}
}
