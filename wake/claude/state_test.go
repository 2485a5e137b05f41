package claude

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestWhatIsNoFileSaysNothing(t *testing.T) {
	config := t.TempDir()
	if err := os.Mkdir(filepath.Join(config, "sessions"), 0o700); err != nil {
		t.Fatal(err)
	}
	for pid, make := range map[int]func(string) error{
		1: func(path string) error { return syscall.Mkfifo(path, 0o600) }, // must not be waited for
		2: func(path string) error { return os.Mkdir(path, 0o700) },
		3: func(path string) error { return os.Symlink("/dev/zero", path) },
		4: func(path string) error { // longer than any that the client writes
			return os.WriteFile(path, []byte(`{"pid":4,"status":"idle"`+strings.Repeat(" ", maxState)+"}"), 0o600)
		},
	} {
		if err := make(filepath.Join(config, "sessions", fmt.Sprintf("%d.json", pid))); err != nil {
			t.Fatal(err)
		}
		if got := StateOf(config, pid); got != Unknown {
			t.Errorf("%d: %q", pid, got)
		}
	}
}
