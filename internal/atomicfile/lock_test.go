package atomicfile

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"

	"c2c/e2e/need"
)

func filelockNewDir(t *testing.T) (*Dir, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "d")
	d, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d, path
}

func acquire(t *testing.T, d *Dir) *Lock {
	t.Helper()
	l, err := Acquire(t.Context(), d, "lock")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// ended is a context that leaves no time to wait.
func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

func wantHeld(t *testing.T, d *Dir) {
	t.Helper()
	if l, err := Acquire(ended(), d, "lock"); !errors.Is(err, ErrLockTimeout) {
		t.Fatalf("got %v, %v while another has it", l, err)
	}
}

func TestOneGoroutineAtATime(t *testing.T) {
	d, _ := filelockNewDir(t)
	var inside, entered atomic.Int32
	done := make(chan error)
	for range 8 {
		go func() {
			for range 100 {
				l, err := Acquire(t.Context(), d, "lock")
				if err != nil {
					done <- err
					return
				}
				entered.Add(1)
				if inside.Add(1) != 1 {
					done <- errors.New("two have the lock")
					return
				}
				inside.Add(-1)
				l.Release()
			}
			done <- nil
		}()
	}
	for range 8 {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	if n := entered.Load(); n != 800 {
		t.Errorf("entered %d times, want 800", n)
	}
}

// The OCaml c2c locks with lockf, its tools with Python's fcntl.lockf.
func TestALockfPeerIsExcludedAndExcludes(t *testing.T) {
	need.Tools(t, "python3")
	d, path := filelockNewDir(t)
	acquire(t, d).Release()
	peer := exec.Command("python3", "-c", `
import fcntl, sys
f = open(sys.argv[1], "r+")
try:
    fcntl.lockf(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
except OSError:
    print("held", flush=True)
    fcntl.lockf(f, fcntl.LOCK_EX)
print("mine", flush=True)
sys.stdin.read()
`, filepath.Join(path, "lock"))
	in, err := peer.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := peer.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	l := acquire(t, d)
	if err := peer.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "held" {
		t.Fatalf("the peer says %q", lines.Text())
	}
	l.Release()
	if !lines.Scan() || lines.Text() != "mine" {
		t.Fatalf("the peer says %q", lines.Text())
	}
	wantHeld(t, d)
	waits := make(chan *Lock)
	go func() {
		l, err := Acquire(t.Context(), d, "lock")
		if err != nil {
			t.Error(err)
		}
		waits <- l
	}()
	if err := peer.Process.Kill(); err != nil { // a lock ends with its holder
		t.Fatal(err)
	}
	in.Close()
	peer.Wait()
	(<-waits).Release()
}

func TestFreeFileTellsAndTakesNothing(t *testing.T) {
	d, _ := filelockNewDir(t)
	l := acquire(t, d)
	for _, want := range []bool{false, true, true} {
		f, err := d.OpenHandle("lock", os.O_RDONLY)
		if err != nil {
			t.Fatal(err)
		}
		if free, err := FreeFile(f); free != want || err != nil {
			t.Errorf("free %v, %v, want %v", free, err, want)
		}
		f.Close()
		if !want {
			l.Release()
		}
	}
}

// Whoever waited for a lock whose file was removed must not have it beside who comes later. A
// backup may be a hard link.
func TestARemovedLockExcludesStill(t *testing.T) {
	d, path := filelockNewDir(t)
	for range 5 {
		first := acquire(t, d)
		if err := os.Link(filepath.Join(path, "lock"), filepath.Join(t.TempDir(), "backup")); err != nil {
			t.Fatal(err)
		}
		waiter, err := OpenLocked(d, "lock")
		if err != nil {
			t.Fatal(err)
		}
		trier, err := OpenLocked(d, "lock")
		if err != nil {
			t.Fatal(err)
		}
		waits := make(chan error)
		go func() { waits <- waiter.Wait(t.Context()) }()
		if err := errors.Join(d.Remove("lock"), first.Release()); err != nil {
			t.Fatal(err)
		}
		if err := <-waits; err != nil {
			t.Fatal(err)
		}
		if ok, err := trier.Try(); ok || err != nil {
			t.Fatalf("a second one has the lock: %v, %v", ok, err)
		}
		wantHeld(t, d)
		waiter.Release()
		trier.Release()
	}
}
