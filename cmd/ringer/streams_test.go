package ringer

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/sessions"
	"c2c/sessions/callers"
	"c2c/wake"
	"c2c/wake/watch"
)

// streams are the bells of sessions, as the HTTP daemon has them.
type streams struct {
	mu      sync.Mutex
	bells   map[string]wake.Doorbell
	changed chan struct{}
}

func (s *streams) list() map[string]wake.Doorbell {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bells
}

// are makes these the bells.
func (s *streams) are(bells map[string]wake.Doorbell) {
	s.mu.Lock()
	s.bells = bells
	s.mu.Unlock()
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

func newStreams(t *testing.T) (l *listed, s *streams) {
	t.Helper()
	r, b, amber, rings := typing(t)
	s = &streams{changed: make(chan struct{}, 1)}
	r.Scope = Streams(s.list, s.changed)
	if _, err := b.Locks.Watchable(sessions.RegistryLock); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Start(t.Context()))
	return &listed{t: t, b: b, amber: amber, rings: rings}, s
}

func next(t *testing.T, rings bell) wake.Notice {
	t.Helper()
	select {
	case n := <-rings:
		return n
	case <-time.After(time.Minute):
		t.Fatal("nobody rings")
	}
	return wake.Notice{}
}

// until waits until the right to ring is held, or is not.
func (l *listed) until(held bool) {
	l.t.Helper()
	lock, err := l.b.Locks.Ringing(l.amber.ID)
	if err != nil {
		l.t.Fatal(err)
	}
	defer lock.Release()
	changes := watch.NewChanges()
	defer changes.Close()
	ctx, cancel := context.WithTimeout(l.t.Context(), time.Minute)
	defer cancel()
	tick := time.NewTicker(time.Millisecond) // taking a lock closes no file
	defer tick.Stop()
	for l.b.Locks.HasRinger(l.amber.ID) != held {
		select {
		case <-ctx.Done():
			l.t.Fatalf("held is not %v", held)
		case <-tick.C:
		}
	}
}

func TestASessionIsRungWhileItsStreamIsOpen(t *testing.T) {
	l, s := newStreams(t)
	other, err := l.b.Register(t.Context(), callers.Caller{Client: "gem", ClientID: "birch"}, "birch")
	if err != nil {
		t.Fatal(err)
	}
	l.deliver()
	l.until(false)
	s.are(map[string]wake.Doorbell{l.amber.ID: l.rings, "somebody-else": l.rings})
	n := next(t, l.rings)
	if n.Count != 1 || n.Oldest != "m-1" || n.RingID == "" {
		t.Errorf("notice %+v", n)
	}
	l.until(true)
	if l.b.Locks.HasRinger(other.ID) {
		t.Error("a session without a stream is held, too: its surface counts as full")
	}
	if got, err := l.b.Look(l.amber); err != nil || got.Surface != sessions.SurfaceFull {
		t.Errorf("surface %q, %v", got.Surface, err)
	}
	s.are(nil)
	l.until(false)
	if got, err := l.b.Look(l.amber); err != nil || got.Surface != sessions.SurfaceDegraded {
		t.Errorf("surface without a stream: %q, %v", got.Surface, err)
	}
}

// Its hooks say what it does. If a bell counted as a turn, it would be busy from then on, and not
// rung for what comes later.
func TestABellOnAStreamIsNoTurn(t *testing.T) {
	l, s := newStreams(t)
	if err := l.b.SetTurn(t.Context(), l.amber, sessions.Idle, inbox.ByHook); err != nil {
		t.Fatal(err)
	}
	l.deliver()
	s.are(map[string]wake.Doorbell{l.amber.ID: l.rings})
	next(t, l.rings)
	amber, err := callers.Resolve(t.Context(), l.b.Registry, callers.Caller{Explicit: l.amber.ID})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := l.b.Look(amber); err != nil || got.Now.Does != sessions.Idle || got.Now.Known != inbox.ByHook {
		t.Errorf("it is %+v, %v", got.Now, err)
	}
}

// A client that has lost its stream may have lost the bell with it.
func TestANewStreamIsRungAnewForMailThatWaits(t *testing.T) {
	l, s := newStreams(t)
	l.deliver()
	s.are(map[string]wake.Doorbell{l.amber.ID: l.rings})
	first := next(t, l.rings)
	again := make(bell)
	s.are(map[string]wake.Doorbell{l.amber.ID: again})
	if n := next(t, again); n.Oldest != "m-1" || n.RingID == first.RingID {
		t.Errorf("notice %+v, the first was %+v", n, first)
	}
}

func TestEachOutcomeOfABellIsLogged(t *testing.T) {
	l, s := newStreams(t)
	l.deliver()
	s.are(map[string]wake.Doorbell{l.amber.ID: l.rings})
	n := next(t, l.rings)
	box, err := l.b.Mailbox(l.amber.ID)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []mail.Message{{ID: "m-2", Kind: "question"}, {ID: "m-3", Kind: "system"}} {
		m.From, m.To, m.Content = "birch", "amber", "the words"
		if _, err := box.Deliver(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]string{"m-1": "rang message", "m-2": "coalesced question", "m-3": "filtered system"}
	got := map[string]string{}
	deadline := time.After(time.Minute)
	for len(got) < len(want) {
		lines, err := l.b.Events.Tail(100)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range lines {
			var e struct {
				Event, Result, Kind, Method string
				ID                          string `json:"message_id"`
				Trace                       string `json:"trace_id"`
				Session                     string `json:"session_id"`
			}
			if err := json.Unmarshal(line, &e); err != nil {
				t.Fatal(err)
			}
			if e.Event != "surface_doorbell_sent" {
				continue
			}
			got[e.ID] = e.Result + " " + e.Kind
			if e.Method != wake.ByStream || e.Session != l.amber.ID || e.Trace == "" || e.ID != "m-3" && e.Trace != n.RingID || strings.Contains(string(line), "the words") {
				t.Errorf("line %s, the ring was %s", line, n.RingID)
			}
		}
		select {
		case <-deadline:
			t.Fatalf("logged %v", got)
		case <-time.After(10 * time.Millisecond):
		}
	}
	for id, line := range want {
		if got[id] != line {
			t.Errorf("%s is logged as %q, want %q", id, got[id], line)
		}
	}
}
