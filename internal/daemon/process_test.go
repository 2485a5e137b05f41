package daemon

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"c2c/internal/atomicfile"
)

// wakeIn is a process with its files in a directory.
func wakeIn(t *testing.T, home string) Process {
	t.Helper()
	dir, err := atomicfile.Create(filepath.Join(home, "root"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dir.Close() })
	return Process{Dir: dir, Name: "wake", What: "wake daemon", Verb: "wake"}
}

// The process id in the lock file is another one in another PID namespace, and an old one after a crash.
func TestStopEndsTheDaemonAndNoProcessByItsNumber(t *testing.T) {
	d := wakeIn(t, t.TempDir())
	other := exec.Command("sleep", "1000")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan error, 1)
	go func() { exited <- other.Wait() }()
	defer func() { other.Process.Kill(); <-exited }()
	works, ended := make(chan bool), make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		ended <- d.Run(ctx, func(ctx context.Context) error { close(works); <-ctx.Done(); return nil })
	}()
	<-works
	if pid, err := d.PID(); pid != os.Getpid() || err != nil {
		t.Errorf("process %d, %v", pid, err)
	}
	if err := d.Run(ctx, nil); err == nil || !strings.Contains(err.Error(), "runs already, process "+strconv.Itoa(os.Getpid())) {
		t.Errorf("a second one: %v", err)
	}
	if err := d.say(strconv.Itoa(other.Process.Pid)); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if err := other.Process.Signal(syscall.Signal(0)); err != nil {
		t.Error("another process was ended")
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if said, err := d.said(); said != "" || err != nil {
		t.Errorf("its id stays: %q, %v", said, err)
	}
	if ran, err := d.Stop(t.Context()); err != nil || ran {
		t.Errorf("stopped again: %v, %v", ran, err)
	}
}

func TestWhoWaitsInVainForADaemonIsToldItsProcess(t *testing.T) {
	d := wakeIn(t, t.TempDir())
	works, release, ended := make(chan bool), make(chan bool), make(chan error, 1)
	go func() {
		ended <- d.Run(t.Context(), func(context.Context) error { close(works); <-release; return nil })
	}()
	<-works
	ctx, late := context.WithCancel(t.Context())
	late()
	if _, err := d.Stop(ctx); err == nil || !strings.Contains(err.Error(), "kill -CONT "+strconv.Itoa(os.Getpid())+" lets it go on") {
		t.Errorf("%v", err)
	}
	close(release)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// A person may name any file.
func TestAFileThatIsNoPIDFileOfOursStays(t *testing.T) {
	home := t.TempDir()
	d := wakeIn(t, home)
	d.ExtraPIDFile = filepath.Join(home, "also.pid")
	write := func(path, text string) error { return os.WriteFile(path, []byte(text), 0o600) }
	other := filepath.Join(home, "other")
	for what, put := range map[string]func() error{
		"a text":            func() error { return write(d.ExtraPIDFile, "dear diary") },
		"another's process": func() error { return write(d.ExtraPIDFile, "1\n") },
		"a directory":       func() error { return os.Mkdir(d.ExtraPIDFile, 0o700) },
		"a FIFO":            func() error { return syscall.Mkfifo(d.ExtraPIDFile, 0o600) },
		"a link":            func() error { return errors.Join(write(other, ""), os.Symlink(other, d.ExtraPIDFile)) },
		"a link to nothing": func() error { return os.Symlink(filepath.Join(home, "none"), d.ExtraPIDFile) },
	} {
		if err := put(); err != nil {
			t.Fatal(err)
		}
		before, _ := os.Lstat(d.ExtraPIDFile)
		if err := d.Run(t.Context(), func(context.Context) error { t.Errorf("%s: it runs", what); return nil }); err == nil || !strings.Contains(err.Error(), d.ExtraPIDFile) {
			t.Errorf("%s: %v", what, err)
		}
		after, err := os.Lstat(d.ExtraPIDFile)
		if err != nil || !os.SameFile(before, after) || before.Size() != after.Size() {
			t.Errorf("%s: it is now %v, %v", what, after, err)
		}
		if err := os.Remove(d.ExtraPIDFile); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile(other); err != nil || len(text) > 0 {
		t.Errorf("behind the link: %q, %v", text, err)
	}
}

// Not beside other tests: a process that they just start has copies of the open locks.
func TestTheOtherPIDFileIsThereWhileItRuns(t *testing.T) {
	home := t.TempDir()
	d := wakeIn(t, home)
	d.ExtraPIDFile = filepath.Join(home, "also.pid")
	runs := func(what string) {
		t.Helper()
		err := d.Run(t.Context(), func(context.Context) error {
			if text, err := os.ReadFile(d.ExtraPIDFile); err != nil || string(text) != pidLine() {
				t.Errorf("%s: it holds %q, %v", what, text, err)
			}
			return nil
		})
		if _, serr := os.Stat(d.ExtraPIDFile); err != nil || serr == nil {
			t.Errorf("%s: %v; it stays: %v", what, err, serr == nil)
		}
	}
	runs("no file")
	if err := os.WriteFile(d.ExtraPIDFile, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	runs("an empty file")
	left := "123456789\n" // of a daemon that was killed
	if err := errors.Join(d.say(left), os.WriteFile(d.ExtraPIDFile, []byte(left), 0o600)); err != nil {
		t.Fatal(err)
	}
	if killed, err := d.Killed(); !killed || err != nil {
		t.Errorf("killed: %v, %v", killed, err)
	}
	runs("what a killed one has left")
	if killed, err := d.Killed(); killed || err != nil {
		t.Errorf("ended: %v, %v", killed, err)
	}
	err := d.Run(t.Context(), func(context.Context) error { return os.WriteFile(d.ExtraPIDFile, []byte("mine"), 0o600) })
	if text, rerr := os.ReadFile(d.ExtraPIDFile); err != nil || rerr != nil || string(text) != "mine" {
		t.Errorf("what somebody has written there meanwhile: %q, %v, %v", text, rerr, err)
	}
}
