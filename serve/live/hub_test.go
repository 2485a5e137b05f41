package live

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"c2c/inbox/mail"
	"c2c/sessions"
)

// hub runs one, and waits for its end.
func (w *world) hub() *Hub {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	h, done := NewHub(w.b), make(chan error, 1)
	go func() { done <- h.Run(ctx) }()
	w.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil && !errors.Is(err, ErrReplaced) {
			w.t.Error(err)
		}
		if _, err := h.Now(context.Background()); err == nil {
			w.t.Error("a hub that has ended says how things are")
		}
	})
	return h
}

func (w *world) now(h *Hub) Snapshot {
	w.t.Helper()
	s, err := h.Now(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

var errEnough = errors.New("enough")

// until follows up to the first update that is enough.
func (w *world) until(h *Hub, after uint64, enough func(Numbered) bool) {
	w.t.Helper()
	if err := h.Follow(w.t.Context(), after, func(n Numbered) error {
		if after++; n.N != after {
			w.t.Errorf("update %d, want %d", n.N, after)
		}
		if enough(n) {
			return errEnough
		}
		return nil
	}); err != errEnough {
		w.t.Fatal(err)
	}
}

func TestAHubSaysHowThingsAreAndWhatBecomesOfThem(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	amber, birch := w.session("amber"), w.session("birch")
	w.send(amber, "birch", "m-1")
	h := w.hub()
	s := w.now(h)
	if len(s.Sessions) != 2 || len(s.Mails) != 1 || s.Mails[0].State != sessions.Queued || s.Mails[0].Content != "body of m-1" || s.N == 0 {
		t.Fatalf("%+v", s)
	}
	w.send(amber, "birch", "m-2")
	w.drain(birch)
	last := map[string]string{}
	for range 2 { // two followers have the same
		clear(last)
		w.until(h, s.N, func(n Numbered) bool {
			for _, m := range n.Mails {
				last[m.ID] = m.State + " " + m.Content
			}
			for _, e := range n.Events {
				if e.Message.Content != "" {
					t.Errorf("the content of %s is kept twice", e.Message.ID)
				}
			}
			return strings.HasPrefix(last["m-1"], sessions.Read) && strings.HasPrefix(last["m-2"], sessions.Read)
		})
		if last["m-2"] != "read body of m-2" {
			t.Errorf("%q", last)
		}
	}
	if later := w.now(h); later.N <= s.N || len(later.Mails) != 2 || later.Mails[1].State != sessions.Read {
		t.Errorf("%+v", later)
	}
}

// Also of mail that came after the list was read.
func TestAHubSaysSinceWhenMailWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	amber, birch := w.session("amber"), w.session("birch")
	w.send(amber, "birch", "m-1")
	h := w.hub()
	s := w.now(h)
	w.drain(birch)
	w.send(amber, "birch", "m-2")
	w.send(amber, "birch", "m-3")
	var sent, oldest time.Time // the list of sessions and the messages may come in two updates
	w.until(h, s.N, func(n Numbered) bool {
		for _, m := range n.Mails {
			if m.ID == "m-2" {
				sent = m.Time()
			}
		}
		if i := slices.IndexFunc(n.Sessions, func(s Session) bool { return s.ID == birch.ID && s.Count == 2 }); i >= 0 {
			oldest = n.Sessions[i].Oldest
		}
		return !sent.IsZero() && !oldest.IsZero()
	})
	if !oldest.Equal(sent) {
		t.Errorf("the oldest is of %v, want %v", oldest, sent)
	}
}

// A follower that does not come back holds nobody, and learns that it has missed something.
func TestAFollowerThatIsTooSlowIsToldSo(t *testing.T) {
	t.Parallel()
	h := NewHub(nil)
	h.take(Update{}) // the first one is all that there is
	for i := range hubKept/3 + 5 {
		h.take(Update{Events: []Event{letter(fmt.Sprint("m-", i), "x")}, Sessions: make([]Session, 100)})
	}
	told := 0
	stop := func(Numbered) error { told++; return errEnough }
	for after, want := range map[uint64]error{0: ErrBehind, 1: ErrBehind, 5: ErrBehind, 6: errEnough, hubKept/3 + 5: errEnough, hubKept/3 + 7: ErrBehind} {
		if err := h.Follow(t.Context(), after, stop); err != want {
			t.Errorf("after %d of %d: %v, want %v", after, h.n, err, want)
		}
	}
	if told != 2 || len(h.kept) != hubKept/3 || len(h.mails.All()) != hubKept/3+5 {
		t.Errorf("told %d times; %d updates and %d messages are kept", told, len(h.kept), len(h.mails.All()))
	}
	lists := 0
	for _, one := range h.kept {
		if one.Sessions != nil {
			lists++
		}
	}
	if lists != 1 || h.size != hubKept/3*3 {
		t.Errorf("%d lists of sessions; %d updates, events and messages", lists, h.size)
	}
}

func TestWhatAHubKeepsIsBounded(t *testing.T) {
	t.Parallel()
	h := NewHub(nil)
	h.take(Update{})
	for i := range hubKept {
		h.take(Update{Events: []Event{letter(fmt.Sprint("m-", i), strings.Repeat("x", 200<<10))}})
		if h.size > hubKept {
			t.Fatalf("%d events and messages after %d updates", h.size, i)
		}
	}
	if len(h.kept) < 100 {
		t.Errorf("%d updates are kept", len(h.kept))
	}
	var burst []Event
	for i := range hubKept {
		burst = append(burst, letter(fmt.Sprint("b-", i), strings.Repeat("x", 200<<10)))
	}
	h.take(Update{Events: burst})
	if len(h.kept) != 0 || h.size != 0 {
		t.Errorf("%d updates, %d events and messages after a burst", len(h.kept), h.size)
	}
	if err := h.Follow(t.Context(), h.n-1, nil); err != ErrBehind {
		t.Error(err)
	}
	if s, err := h.Now(t.Context()); err != nil || len(s.Mails) != hubMails {
		t.Errorf("%d messages, %v", len(s.Mails), err)
	}
}

func TestAHubWhoseRootIsMadeAnewSaysSo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.session("amber")
	h := w.hub()
	s := w.now(h)
	if err := os.RemoveAll(w.b.Root()); err != nil {
		t.Fatal(err)
	}
	after := s.N
	err := h.Follow(t.Context(), after, func(Numbered) error { return nil })
	if !errors.Is(err, ErrReplaced) {
		t.Error(err)
	}
	if _, err := h.Now(t.Context()); !errors.Is(err, ErrReplaced) {
		t.Error(err)
	}
}

// While the list of sessions cannot be read, a hub says so, and goes on when it can.
func TestAHubGoesOnAfterItCouldNotLook(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	amber := w.session("amber")
	w.session("birch")
	h := w.hub()
	s := w.now(h)
	path := filepath.Join(w.b.Root(), "registry.json")
	if err := errors.Join(os.Rename(path, path+".good"), os.Mkdir(path, 0o700)); err != nil {
		t.Fatal(err)
	}
	w.touch("registry.json.lock") // as who writes the list does
	var err error
	for err == nil {
		_, err = h.Now(t.Context())
	}
	if err := errors.Join(os.Remove(path), os.Rename(path+".good", path)); err != nil {
		t.Fatal(err)
	}
	behind := h.Follow(t.Context(), s.N, func(n Numbered) error { s.N = n.N; return nil })
	if behind != ErrBehind {
		t.Fatal(behind)
	}
	s = w.now(h)
	if _, err := w.b.Send(t.Context(), amber, mail.Message{To: "birch", ID: "m-1", Content: "x"}); err != nil {
		t.Fatal(err)
	}
	w.until(h, s.N, func(n Numbered) bool { return len(n.Mails) > 0 && n.Mails[0].ID == "m-1" })
}

func (w *world) touch(name string) {
	w.t.Helper()
	f, err := os.OpenFile(filepath.Join(w.b.Root(), name), os.O_RDWR|os.O_CREATE, 0o600)
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		w.t.Fatal(err)
	}
}
