package client

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestWhatClaudeSaysOfItself(t *testing.T) {
	config := t.TempDir()
	file := filepath.Join(config, "sessions", "7.json")
	if err := os.Mkdir(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		`{"pid":7,"status":"idle"}`: Idle, `{"pid":7,"status":"busy"}`: Busy, `{"pid":7,"status":"shell"}`: Busy,
		`{"pid":7,"status":"waiting","waitingFor":"permission prompt"}`: Waiting,
		`{"pid":8,"status":"idle"}`:                                     "", `{"pid":7}`: "", `{`: "", ``: "", `[]`: "",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := claude().Doing(config, 7, "s"); got.Word != want || !got.Since.IsZero() {
			t.Errorf("%s: %+v, want %q", text, got, want)
		}
	}
	if err := os.WriteFile(file, []byte(`{"pid":7,"status":"busy","statusUpdatedAt":1795321261985}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := claude().Doing(config, 7, "s"); !got.Since.Equal(time.UnixMilli(1795321261985)) {
		t.Errorf("since %v", got.Since)
	}
	if got := claude().Doing(config, 9, "s"); got.Word != "" {
		t.Errorf("no file: %+v", got)
	}
}

func TestWhatIsNoFileOfClaudeSaysNothing(t *testing.T) {
	config := t.TempDir()
	if err := os.Mkdir(filepath.Join(config, "sessions"), 0o700); err != nil {
		t.Fatal(err)
	}
	for pid, make := range map[int]func(string) error{
		1: func(path string) error { return syscall.Mkfifo(path, 0o600) }, // must not be waited for
		2: func(path string) error { return os.Mkdir(path, 0o700) },
		3: func(path string) error { return os.Symlink("/dev/zero", path) },
		4: func(path string) error { // longer than any that the client writes
			return os.WriteFile(path, []byte(`{"pid":4,"status":"idle"`+strings.Repeat(" ", maxFile)+"}"), 0o600)
		},
	} {
		if err := make(filepath.Join(config, "sessions", fmt.Sprintf("%d.json", pid))); err != nil {
			t.Fatal(err)
		}
		if got := claude().Doing(config, pid, "s"); got.Word != "" {
			t.Errorf("%d: %+v", pid, got)
		}
	}
}
