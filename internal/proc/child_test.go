package proc

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// script is a program that a shell reads.
func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// A file called git may be anything.
func TestAProgramThatNeverStopsIsEnded(t *testing.T) {
	said, err := Run(script(t, "while :; do echo 0123456789012345678901234567890123456789; done"), t.TempDir(), nil)
	if len(said) != MaxSays || err == nil {
		t.Errorf("%d bytes, %v; want %d and an error", len(said), err, MaxSays)
	}
}

// A command of ours waits for it, and so does whoever typed that.
func TestAProgramThatSaysNothingAndDoesNotEndIsEnded(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	said, err := run(time.Millisecond, script(t, "read line < "+pipe), t.TempDir(), nil)
	if said != "" || err == nil || !strings.Contains(err.Error(), "has not ended") {
		t.Errorf("%q, %v", said, err)
	}
}

// A program may start another one, which keeps its output open.
func TestWhatAProgramLeavesBehindIsNotWaitedFor(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := run(100*time.Millisecond, script(t, "cat "+pipe+" &"), t.TempDir(), nil)
		ended <- err
	}()
	select {
	case err := <-ended:
		if err == nil || !strings.Contains(err.Error(), "has not ended") {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("it still waits")
	}
	if f, err := os.OpenFile(pipe, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil { // so that the other one ends
		f.Close()
	}
}

func TestItsErrorsGoWhereTheCallerSays(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	said, err := Run(script(t, `echo wrong >&2; echo right; exit 3`), t.TempDir(), w)
	w.Close()
	errs, _ := io.ReadAll(r)
	if said != "right\n" || string(errs) != "wrong\n" || err == nil {
		t.Errorf("it said %q and %q, %v", said, errs, err)
	}
}

func TestAProgramThatIsMissingIsAnError(t *testing.T) {
	if said, err := Run(filepath.Join(t.TempDir(), "missing"), t.TempDir(), nil); said != "" || err == nil {
		t.Errorf("%q, %v", said, err)
	}
}

func TestAProgramThatPrintsTooMuchAndDoesNotEndIsEnded(t *testing.T) {
	said, err := Run(script(t, "trap '' PIPE; while :; do printf %1000d 0; done 2>/dev/null"), t.TempDir(), nil)
	if len(said) != MaxSays || err == nil {
		t.Errorf("%d bytes, %v; want %d and an error", len(said), err, MaxSays)
	}
}
