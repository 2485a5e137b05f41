package broker_test

import (
	"encoding/json"
	"testing"
	"time"

	"c2c/inbox"
	"c2c/internal/atomicfile"
	"c2c/sessions"
	"c2c/sessions/callers"
	"c2c/wake"
)

// hold holds a lock as another process would.
func (w *world) hold(name string) (release func() error) {
	w.t.Helper()
	lock, err := atomicfile.Acquire(w.t.Context(), w.Dir(), name)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { lock.Release() })
	return lock.Release
}

func (w *world) wantSurface(what, sid, want string) {
	w.t.Helper()
	if got := w.listed(sid); got.Surface != want {
		w.t.Errorf("%s: surface_support %q, want %q", what, got.Surface, want)
	}
}

// terminal is the number of the process of c2c start, see bell.
const terminal = 40

// bell says that c2c start rings the process of a session.
func (w *world) bell(sid string) {
	w.t.Helper()
	p, err := w.Processes.Find(w.starts(terminal))
	if err != nil {
		w.t.Fatal(err)
	}
	if err := w.Facts.Change(w.t.Context(), sid, func(f *sessions.Facts) { f.RingerPID, f.RingerStart = p.PID, p.Start }); err != nil {
		w.t.Fatal(err)
	}
}

// losesBell says that c2c start rang the process of a session, and was killed.
func (w *world) losesBell(sid string) {
	w.t.Helper()
	w.bell(sid)
	w.ends(terminal)
}

// Nothing but what can be done counts: not the client's name, not its transport.
func TestSurfaceSupportSaysWhetherMailWakesASession(t *testing.T) {
	w := newWorld(t)
	for i, transport := range []string{sessions.TransportHTTP, sessions.TransportStdio} {
		n := 10 + 10*i
		s := w.register("amber-"+transport, callers.Caller{Client: "cursor", ClientID: transport, PID: w.pid(n), Transport: transport})
		release := func() error { return nil }
		free := func() {
			t.Helper()
			if err := release(); err != nil {
				t.Fatal(err)
			}
		}
		w.wantSurface("nobody rings it", s.ID, sessions.SurfaceDegraded)
		w.rang(s.ID, wake.Ring{Outcome: wake.Rang, Method: wake.ByStream})
		w.wantSurface("its stream rang and is gone", s.ID, sessions.SurfaceDegraded)
		release = w.hold(ringLock(s.ID))
		w.wantSurface("a ringer", s.ID, sessions.SurfaceFull)
		free()
		w.wantSurface("no ringer any more", s.ID, sessions.SurfaceDegraded)
		w.rang(s.ID, wake.Ring{Outcome: wake.Rang, Method: wake.ByQueue})
		w.wantSurface("no wake daemon", s.ID, sessions.SurfaceDegraded)
		release = w.hold(wakeLock)
		w.wantSurface("the wake daemon", s.ID, sessions.SurfaceFull)
		w.rang(s.ID, wake.Ring{Outcome: wake.Rang, Method: wake.ByTerminal})
		w.wantSurface("a terminal took a ring and is gone", s.ID, sessions.SurfaceDegraded)
		if err := w.SetPane(t.Context(), s.ID, "tmux:%0:/tmp/x"); err != nil {
			t.Fatal(err)
		}
		w.wantSurface("the wake daemon types into its pane", s.ID, sessions.SurfaceFull)
		free()
		w.wantSurface("nothing types into its pane", s.ID, sessions.SurfaceDegraded)
		w.bell(s.ID)
		w.wantSurface("its terminal took a ring", s.ID, sessions.SurfaceFull)
		w.rang(s.ID, wake.Ring{Outcome: wake.Uncaptured, Method: wake.ByTerminal})
		w.wantSurface("its terminal did not take the last", s.ID, sessions.SurfaceDegraded)
		w.rang(s.ID, wake.Ring{Outcome: wake.Rang, Method: wake.ByTerminal})
		w.ends(terminal)
		w.wantSurface("c2c start was killed, and its client runs on", s.ID, sessions.SurfaceDegraded)
		w.bell(s.ID)
		w.wantSurface("another c2c start", s.ID, sessions.SurfaceFull)
		w.attach(callers.Caller{Client: "cursor", ClientID: transport, PID: w.starts(n)})
		w.wantSurface("it was started again, without c2c start", s.ID, sessions.SurfaceDegraded)
	}
	gone := w.register("birch", callers.Caller{Client: "claude", ClientID: "x", PID: w.pid(30)})
	w.rang(gone.ID, wake.Ring{Outcome: wake.Rang, Method: wake.ByTerminal})
	w.ends(30)
	w.wantSurface("its process has ended", gone.ID, "")
	person := w.register("dana", callers.Caller{Client: sessions.ClientHuman})
	w.wantSurface("a person", person.ID, "")
	outside, err := w.ExternalSession(t.Context(), "ci", sessions.ClientExternal)
	if err != nil {
		t.Fatal(err)
	}
	w.wantSurface("a sender outside", outside.ID, "")
}

// A list says of a client without its terminal that nothing rings it, and not only that it is idle.
func TestAListTellsOfASessionWhoseRingerHasEnded(t *testing.T) {
	w := newWorld(t)
	s := w.register("amber", callers.Caller{Client: "gemini", ClientID: "g-1", PID: w.pid(10)})
	w.turn(s.ID, sessions.Idle, inbox.ByHook)
	note := func(what, want string) {
		t.Helper()
		if got := w.listed(s.ID); got.Now.Does != sessions.Idle || got.Note != want {
			t.Errorf("%s: %s, note %q, want %q", what, got.Now.Does, got.Note, want)
		}
	}
	note("nothing ever rang it", "")
	w.bell(s.ID)
	note("c2c start rings it", "")
	w.ends(terminal)
	note("c2c start was killed", ringerEnded+"; c2c doctor says what to do")
	release := w.hold(ringLock(s.ID))
	note("another process rings it", "")
	if err := release(); err != nil {
		t.Fatal(err)
	}
	w.attach(callers.Caller{Client: "gemini", ClientID: "g-1", PID: w.starts(10)})
	note("it was started again", "")
	s = w.register("cody", callers.Caller{Client: "codex", PID: w.pid(20)})
	w.turn(s.ID, sessions.Idle, inbox.ByHook)
	w.losesBell(s.ID)
	w.rang(s.ID, wake.Ring{Outcome: wake.Rang, Method: wake.ByQueue})
	note("no wake daemon", ringerEnded+"; c2c doctor says what to do")
	w.hold(wakeLock)
	note("the wake daemon rings it", "")
}

// transportAt is since when a session's tools reach us as they do, as its facts say.
func (w *world) transportAt(s sessions.Session) time.Time {
	w.t.Helper()
	f := struct {
		At time.Time `json:"transport_at"`
	}{}
	if err := json.Unmarshal([]byte(w.file("sessions/"+s.ID+".json")), &f); err != nil {
		w.t.Fatal(err)
	}
	return f.At
}

func TestTheTransportOfTheLastCallIsKept(t *testing.T) {
	w := newWorld(t)
	c := callers.Caller{Client: "cursor", ClientID: "a", PID: w.pid(10)}
	want := func(transport string) {
		t.Helper()
		if got := w.attach(c).Transport; got != transport {
			t.Errorf("after a call over %q: transport %q, want %q", c.Transport, got, transport)
		}
	}
	want("")
	c.Transport = sessions.TransportStdio
	want(sessions.TransportStdio)
	before := w.transportAt(w.attach(c))
	w.pass(1e9)
	c.Transport = ""
	want(sessions.TransportStdio) // its hooks have none
	c.Transport = sessions.TransportHTTP
	want(sessions.TransportHTTP)
	if at := w.transportAt(w.attach(c)); !at.Equal(w.clock.UTC()) || at.Equal(before) {
		t.Errorf("since %v, before since %v, now %v", at, before, w.clock)
	}
}
