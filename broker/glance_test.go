package broker_test

import (
	"testing"

	"c2c/sessions"
	"c2c/sessions/callers"
)

// countedProcesses counts how often each process is looked at.
type countedProcesses struct {
	sessions.ProcessTable
	looks map[int]int
}

func (c countedProcesses) Find(pid int) (sessions.Process, error) {
	c.looks[pid]++
	return c.ProcessTable.Find(pid)
}

func TestACallerThatIsKnownIsLookedAtOnce(t *testing.T) {
	for name, find := range map[string]func(*world, callers.Caller) (sessions.Session, error){
		"Attach": func(w *world, c callers.Caller) (sessions.Session, error) { return w.Attach(t.Context(), c) },
		"Resolve": func(w *world, c callers.Caller) (sessions.Session, error) {
			return callers.Resolve(t.Context(), w.Registry, c)
		},
	} {
		w := newTableWorld(t)
		caller := callers.Caller{Client: "claude", ClientID: "one", PID: w.pid(100), Getenv: env("C2C_MCP_SESSION_ID", "amber")}
		want := w.attach(caller)
		counted := countedProcesses{w.table, map[int]int{}}
		w.Broker.Processes = counted
		for _, c := range []callers.Caller{caller, {Client: "claude", PID: w.pid(100), Getenv: caller.Getenv}} {
			clear(counted.looks)
			if s, err := find(w, c); err != nil || s.ID != want.ID || s.Process != w.pid(100) {
				t.Fatalf("%s %+v: %+v, %v", name, c, s, err)
			}
			if counted.looks[100] != 1 {
				t.Errorf("%s %+v: its process was looked at %d times", name, c, counted.looks[100])
			}
		}
	}
}

func TestAGlanceSeesOneState(t *testing.T) {
	w := newWorld(t)
	amber := w.attach(callers.Caller{Explicit: "amber"})
	g := w.Glance()
	before := g.Facts.Of(amber.ID)
	if g.Locks.HasServer(amber.ID) {
		t.Error("nobody serves it, and somebody does")
	}
	w.hold(sessions.ServerLock(amber.ID))
	if g.Locks.HasServer(amber.ID) || !w.Glance().Locks.HasServer(amber.ID) || !w.Locks.HasServer(amber.ID) {
		t.Error("its server is not what the first look of a glance has shown")
	}
	if err := w.SetPane(t.Context(), amber.ID, "%7"); err != nil {
		t.Fatal(err)
	}
	if again := g.Facts.Of(amber.ID); again.Pane != before.Pane {
		t.Errorf("the same glance: pane %q, then %q", before.Pane, again.Pane)
	}
	if got := w.Glance().Facts.Of(amber.ID).Pane; got != "%7" {
		t.Errorf("another glance: pane %q", got)
	}
	if got := w.Facts.Of(amber.ID).Pane; got != "%7" {
		t.Errorf("without one: pane %q", got)
	}
}
