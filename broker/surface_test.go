package broker

import (
	"testing"

	"c2c/inbox/filelock"
	"c2c/wake"
)

// hold holds a lock as another process would.
func (w *world) hold(name string) (release func() error) {
	w.t.Helper()
	lock, err := filelock.Acquire(w.t.Context(), w.root, name)
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

// Nothing but what can be done counts: not the client's name, not its transport.
func TestSurfaceSupportSaysWhetherMailWakesASession(t *testing.T) {
	w := newWorld(t)
	for _, transport := range []string{TransportHTTP, TransportStdio} {
		s := w.register("amber-"+transport, Caller{Client: "cursor", ClientID: transport, PID: 10, Transport: transport})
		w.wantSurface("nobody rings it", s.ID, SurfaceDegraded)
		w.rang(s.ID, wake.Ring{Outcome: wake.Rang, Method: wake.ByStream})
		w.wantSurface("its stream rang and is gone", s.ID, SurfaceDegraded)
		release := w.hold(ringLock(s.ID))
		w.wantSurface("a ringer", s.ID, SurfaceFull)
		if err := release(); err != nil {
			t.Fatal(err)
		}
		w.wantSurface("no ringer any more", s.ID, SurfaceDegraded)
		w.rang(s.ID, wake.Ring{Outcome: wake.Rang, Method: wake.ByTerminal})
		w.wantSurface("its terminal took a ring", s.ID, SurfaceFull)
		w.rang(s.ID, wake.Ring{Outcome: wake.Uncaptured, Method: wake.ByTerminal})
		w.wantSurface("its terminal did not take the last", s.ID, SurfaceDegraded)
		w.rang(s.ID, wake.Ring{Outcome: wake.Rang, Method: wake.ByQueue})
		w.wantSurface("no wake daemon", s.ID, SurfaceDegraded)
		release = w.hold(wakeLock)
		w.wantSurface("the wake daemon", s.ID, SurfaceFull)
		if err := release(); err != nil {
			t.Fatal(err)
		}
	}
	gone := w.register("birch", Caller{Client: "claude", ClientID: "x", PID: 20})
	w.rang(gone.ID, wake.Ring{Outcome: wake.Rang, Method: wake.ByTerminal})
	delete(w.procs, 20)
	w.wantSurface("its process has ended", gone.ID, "")
	person := w.register("dana", Caller{Client: ClientHuman})
	w.wantSurface("a person", person.ID, "")
	outside, err := w.Outside(t.Context(), "ci", ClientExternal)
	if err != nil {
		t.Fatal(err)
	}
	w.wantSurface("a sender outside", outside.ID, "")
}

func TestTheTransportOfTheLastCallIsKept(t *testing.T) {
	w := newWorld(t)
	c := Caller{Client: "cursor", ClientID: "a", PID: 10}
	want := func(transport string) {
		t.Helper()
		if got := w.factsOf(w.attach(c).ID).Transport; got != transport {
			t.Errorf("after a call over %q: transport %q, want %q", c.Transport, got, transport)
		}
	}
	want("")
	c.Transport = TransportStdio
	want(TransportStdio)
	before := w.factsOf(w.attach(c).ID).TransportAt
	w.pass(1e9)
	c.Transport = ""
	want(TransportStdio) // its hooks have none
	c.Transport = TransportHTTP
	want(TransportHTTP)
	if at := w.factsOf(w.attach(c).ID).TransportAt; !at.Equal(w.clock.UTC()) || at.Equal(before) {
		t.Errorf("since %v, before since %v, now %v", at, before, w.clock)
	}
}
