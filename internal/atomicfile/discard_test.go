package atomicfile

import (
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
)

func TestALockThatSomebodyHasIsNotDiscarded(t *testing.T) {
	d, path := filelockNewDir(t)
	l := acquire(t, d)
	if err := DiscardLock(d, "lock"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(path, "lock")); err != nil {
		t.Fatal(err)
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second one makes no file to remove it
		if err := DiscardLock(d, "lock"); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(path, "lock")); !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
}

// A lock that was opened before its file was discarded excludes those who come later.
func TestWhoHasOpenedADiscardedLockGetsTheNewOne(t *testing.T) {
	for name, take := range map[string]func(*Lock) error{
		"by trying":  func(l *Lock) error { _, err := l.Try(); return err },
		"by waiting": func(l *Lock) error { return l.Wait(t.Context()) },
		"together":   func(l *Lock) error { _, err := l.Share(); return err },
	} {
		t.Run(name, func(t *testing.T) {
			d, _ := filelockNewDir(t)
			l, err := OpenLocked(d, "lock")
			if err != nil {
				t.Fatal(err)
			}
			if err := DiscardLock(d, "lock"); err != nil {
				t.Fatal(err)
			}
			if err := take(l); err != nil {
				t.Fatal(err)
			}
			wantHeld(t, d)
			if err := l.Release(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// Goroutines that take the lock while others discard its file exclude each other.
func TestOneAtATimeWhileTheLockIsDiscarded(t *testing.T) {
	d, _ := filelockNewDir(t)
	var inside atomic.Int32
	done := make(chan error)
	for range 4 {
		go func() {
			for range 200 {
				err := WithLock(t.Context(), d, "lock", func() error {
					if inside.Add(1) != 1 {
						t.Error("two are inside")
					}
					inside.Add(-1)
					return nil
				})
				if err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
		go func() {
			for range 200 {
				if err := DiscardLock(d, "lock"); err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	for range 8 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}
