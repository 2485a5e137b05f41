package atomicfile

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/pprof"
	"strings"
	"testing"
	"time"
)

// The test binary is also the other process: with C2C_TEST_LOCK naming a
// directory it takes the lock there, says so, and keeps it until its input ends.
func TestMain(m *testing.M) {
	if path := os.Getenv("C2C_TEST_LOCK"); path != "" {
		if err := hold(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func hold(path string) error {
	d, err := Open(path)
	if err != nil {
		return err
	}
	l, err := Acquire(ended(), d, "lock")
	if errors.Is(err, ErrLockTimeout) {
		fmt.Println("held")
		l, err = Acquire(context.Background(), d, "lock")
	}
	if err != nil {
		return err
	}
	fmt.Println("mine")
	_, err = io.Copy(io.Discard, os.Stdin)
	return errors.Join(err, l.Release())
}

// peer is another process that wants the lock.
type peer struct {
	cmd   *exec.Cmd
	in    io.Closer
	lines *bufio.Scanner
}

func startPeer(t *testing.T, path string) *peer {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "C2C_TEST_LOCK="+path)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return &peer{cmd, in, bufio.NewScanner(out)}
}

func (p *peer) wantSays(t *testing.T, want string) {
	t.Helper()
	if !p.lines.Scan() || p.lines.Text() != want {
		t.Fatalf("the other process says %q, want %q", p.lines.Text(), want)
	}
}

func TestOneProcessAtATime(t *testing.T) {
	d, path := filelockNewDir(t)
	l := acquire(t, d)
	other := startPeer(t, path)
	other.wantSays(t, "held")
	l.Release()
	other.wantSays(t, "mine")
	wantHeld(t, d)
	other.in.Close()
	if err := other.cmd.Wait(); err != nil {
		t.Error(err)
	}
	acquire(t, d).Release()
}

func TestTheLockOfAKilledProcessIsFree(t *testing.T) {
	d, path := filelockNewDir(t)
	other := startPeer(t, path)
	other.wantSays(t, "mine")
	wantHeld(t, d)
	if err := other.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	other.cmd.Wait()
	acquire(t, d).Release()
}

func TestADeadlineIsATimeoutThatSaysWhatWasWaitedFor(t *testing.T) {
	d, path := filelockNewDir(t)
	l := acquire(t, d)
	defer l.Release()
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, err := Acquire(ctx, d, "lock")
	if !errors.Is(err, ErrLockTimeout) {
		t.Fatal(err)
	}
	for _, want := range []string{path + "/lock", "; waited "} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not tell %q", err, want)
		}
	}
	if strings.Contains(err.Error(), context.DeadlineExceeded.Error()) {
		t.Errorf("%v is no sentence for people", err)
	}
}

// A suspended process may hold a lock for days, and a daemon waits for it again and again.
func TestWaitsThatEndLeaveOneThread(t *testing.T) {
	d, _ := filelockNewDir(t)
	l := acquire(t, d)
	threads := pprof.Lookup("threadcreate")
	goroutinesBefore, filesBefore, threadsBefore := runtime.NumGoroutine(), openFiles(t), threads.Count()
	wait := func() (*Lock, error) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		return Acquire(ctx, d, "lock")
	}
	const waits = 100
	for n := range waits {
		if _, err := wait(); !errors.Is(err, ErrLockTimeout) {
			t.Error(err)
		}
		if err := d.Touch("lock", time.Unix(int64(n), 0)); err != nil { // some lock files are touched, to notify those who watch them
			t.Fatal(err)
		}
	}
	if n := runtime.NumGoroutine() - goroutinesBefore; n > 1 {
		t.Errorf("%d goroutines more", n)
	}
	if n := openFiles(t) - filesBefore; n > 1 {
		t.Errorf("%d open files more", n)
	}
	if n := threads.Count() - threadsBefore; n > waits/2 { // Go starts some threads for its own work
		t.Errorf("%d threads more", n)
	}
	l.Release()
	acquire(t, d).Release()                                                                     // takes the wait over, or comes after it
	for limit := time.Now().Add(time.Minute); openFiles(t) > filesBefore-1; runtime.Gosched() { // the thread that waited closes its file in its own time
		if time.Now().After(limit) {
			t.Fatalf("%d files are open when the lock is free, and %d were open with the lock", openFiles(t), filesBefore)
		}
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/dev/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}
