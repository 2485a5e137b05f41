package watch

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"c2c/inbox"
	"c2c/inbox/atomicfile"
	"c2c/inbox/filelock"
	"c2c/wake"
)

// bell is a doorbell that tells the test.
type bell chan wake.Notice

func (b bell) Ring(ctx context.Context, n wake.Notice) error {
	select {
	case b <- n:
	case <-ctx.Done():
	}
	return nil
}

// watched is a mailbox with a keeper: its session is what the test lists.
type watched struct {
	t        *testing.T
	root     *atomicfile.Dir
	box      *inbox.Mailbox
	rings    bell
	list     chan []wake.Session
	registry string
}

func newWatched(t *testing.T) *watched {
	t.Helper()
	path := filepath.Join(t.TempDir(), "root")
	root, err := atomicfile.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	box, err := inbox.Open(root, "amber", inbox.Config{})
	if err != nil {
		t.Fatal(err)
	}
	w := &watched{t, root, box, make(bell), make(chan []wake.Session), filepath.Join(path, "registry.json.lock")}
	w.touch(w.registry)
	return w
}

func (w *watched) touch(name string) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		w.t.Error(err)
		return
	}
	f.Close()
}

// claim waits for the right to ring.
func (w *watched) claim() *filelock.Lock {
	w.t.Helper()
	lock, err := filelock.Acquire(w.t.Context(), w.root, "amber.wake.lock")
	if err != nil {
		w.t.Fatal(err)
	}
	return lock
}

// lists gives the keeper another list, and returns when it has taken it.
func (w *watched) lists(sessions ...wake.Session) {
	w.touch(w.registry)
	w.list <- sessions
}

func (w *watched) deliver() {
	w.t.Helper()
	if _, err := w.box.Deliver(w.t.Context(), inbox.Message{From: "birch", To: "amber", Content: "x", ID: "m-1"}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *watched) keep() {
	k := &Keeper{
		Registry: w.registry, Log: slog.New(slog.DiscardHandler),
		Sessions: func(ctx context.Context) (sessions []wake.Session, err error) {
			select {
			case sessions = <-w.list:
			case <-ctx.Done():
			}
			return sessions, nil
		},
		Claim: func(string) (*filelock.Lock, error) { return filelock.Open(w.root, "amber.wake.lock") },
		Watcher: func(wake.Session) (*Watcher, error) {
			lock := filepath.Join(w.root.Path(), w.box.LockName())
			w.touch(lock)
			return &Watcher{Box: w.box, Lock: lock, Now: time.Now, Methods: []wake.Method{{Name: "test", Doorbell: w.rings}}}, nil
		},
	}
	ctx, cancel := context.WithCancel(w.t.Context())
	ended := make(chan error)
	go func() { ended <- k.Run(ctx) }()
	w.t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			w.t.Error(err)
		}
	})
}

func TestAKeeperRingsWhoIsListedAndStopsWhenNotAnyMore(t *testing.T) {
	w := newWatched(t)
	w.keep()
	w.lists(wake.Session{SID: "amber"})
	w.deliver()
	if n := <-w.rings; n.Count != 1 || n.Oldest != "m-1" || len(n.From) != 1 || n.From[0] != "birch" {
		t.Errorf("notice %+v", n)
	}
	w.lists()
	w.claim().Release()
}

// Another process has the right to ring for hours, and the session changes all the time.
func TestAKeeperThatWaitsLeavesNothingBehindAndTakesOver(t *testing.T) {
	w := newWatched(t)
	other := w.claim()
	w.deliver()
	w.keep()
	before := 0
	for i := range 100 {
		w.lists(wake.Session{SID: "amber", Process: i + 1})
		if i == 2 {
			before = runtime.NumGoroutine()
		}
	}
	if now := runtime.NumGoroutine(); now > before+10 {
		t.Errorf("%d goroutines, and %d when the session had changed twice", now, before)
	}
	other.Release()
	select {
	case <-w.rings:
	case <-time.After(30 * time.Second): // half of the time after which it looks in any case
		t.Error("the right to ring is not taken")
	}
}
