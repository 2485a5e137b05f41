package proc

import (
	"errors"
	"math"
	"os"
	"syscall"
	"testing"
)

func TestAProcessThatCannotBeLookedAtIsNotGone(t *testing.T) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	none := limit
	none.Cur = 0
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &none); err != nil {
		t.Fatal(err)
	}
	_, err := Read(os.Getpid())
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if err == nil || errors.Is(err, ErrNone) {
		t.Errorf("without a file descriptor: %v", err)
	}
	if _, err := Read(math.MaxInt32); !errors.Is(err, ErrNone) {
		t.Errorf("an id that is not in use: %v", err)
	}
}
