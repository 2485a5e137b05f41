package broker

import "testing"

// countedProcesses counts how often each process is looked at.
type countedProcesses struct {
	processes
	looks map[int]int
}

func (c countedProcesses) find(pid int) (process, error) {
	c.looks[pid]++
	return c.processes.find(pid)
}

func TestACallerThatIsKnownIsLookedAtOnce(t *testing.T) {
	for name, find := range map[string]func(*world, Caller) (Session, error){
		"Attach":  func(w *world, c Caller) (Session, error) { return w.Attach(t.Context(), c) },
		"Resolve": func(w *world, c Caller) (Session, error) { return w.Resolve(t.Context(), c) },
	} {
		w := newWorld(t)
		caller := Caller{Client: "claude", ClientID: "one", PID: 100, Getenv: env("C2C_MCP_SESSION_ID", "amber")}
		want := w.attach(caller)
		counted := countedProcesses{w.procs, map[int]int{}}
		w.Broker.proc = counted
		for _, c := range []Caller{caller, {Client: "claude", PID: 100, Getenv: caller.Getenv}} {
			clear(counted.looks)
			if s, err := find(w, c); err != nil || s.ID != want.ID || s.Process != 100 {
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
	amber := w.attach(Caller{Explicit: "amber"})
	g := w.glance()
	before := g.factsOf(amber.ID)
	if g.HasServer(amber.ID) {
		t.Error("nobody serves it, and somebody does")
	}
	w.hold(serverLock(amber.ID))
	if g.HasServer(amber.ID) || !w.glance().HasServer(amber.ID) || !w.HasServer(amber.ID) {
		t.Error("its server is not what the first look of a glance has shown")
	}
	if err := w.SetPane(t.Context(), amber.ID, "%7"); err != nil {
		t.Fatal(err)
	}
	if again := g.factsOf(amber.ID); again.Pane != before.Pane {
		t.Errorf("the same glance: pane %q, then %q", before.Pane, again.Pane)
	}
	if got := w.glance().factsOf(amber.ID).Pane; got != "%7" {
		t.Errorf("another glance: pane %q", got)
	}
	if got := w.factsOf(amber.ID).Pane; got != "%7" {
		t.Errorf("without one: pane %q", got)
	}
}
