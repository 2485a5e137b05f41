package watch

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"c2c/inbox"
	"c2c/inbox/atomicfile"
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

func TestAKeeperRingsWhoIsListedAndStopsWhenNotAnyMore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "root")
	root, err := atomicfile.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	registry := filepath.Join(path, "registry.json.lock")
	touch := func(name string) {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	touch(registry)
	box, err := inbox.Open(root, "amber", inbox.Config{})
	if err != nil {
		t.Fatal(err)
	}
	rings, released := make(bell), make(chan bool, 1)
	list := make(chan []wake.Session, 1)
	list <- []wake.Session{{SID: "amber"}}
	current := []wake.Session(nil)
	k := &Keeper{
		Registry: registry, Log: slog.New(slog.DiscardHandler),
		Sessions: func(context.Context) ([]wake.Session, error) {
			select {
			case current = <-list:
			default:
			}
			return current, nil
		},
		Claim: func(context.Context, string) (func() error, error) {
			return func() error { released <- true; return nil }, nil
		},
		Watcher: func(wake.Session) (*Watcher, error) {
			lock := filepath.Join(path, box.LockName())
			touch(lock)
			return &Watcher{Box: box, Lock: lock, Now: time.Now, Methods: []wake.Method{{Name: "test", Doorbell: rings}}}, nil
		},
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- k.Run(ctx) }()
	if _, err := box.Deliver(t.Context(), inbox.Message{From: "birch", To: "amber", Content: "x", ID: "m-1"}); err != nil {
		t.Fatal(err)
	}
	if n := <-rings; n.Count != 1 || n.Oldest != "m-1" || len(n.From) != 1 || n.From[0] != "birch" {
		t.Errorf("notice %+v", n)
	}
	list <- nil
	touch(registry)
	<-released
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
