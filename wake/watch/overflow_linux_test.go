//go:build !portable

package watch

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The kernel keeps so many events for who does not read them, and drops the rest. What it dropped
// may be anybody's.
func TestEverybodyLooksAfterAnOverflow(t *testing.T) {
	data, err := os.ReadFile("/proc/sys/fs/inotify/max_queued_events")
	if err != nil {
		t.Fatal(err)
	}
	most, err := strconv.Atoi(string(bytes.TrimSpace(data)))
	if err != nil {
		t.Fatal(err)
	}
	changes := NewChanges()
	defer changes.Close()
	dir := t.TempDir()
	touch := func(name string) string {
		path := filepath.Join(dir, name)
		fd, err := unix.Open(path, unix.O_WRONLY|unix.O_CREAT, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		unix.Close(fd)
		return path
	}
	for _, name := range []string{"a", "b"} {
		defer changes.subscribe(touch(name)).Close()
	}
	dropped := changes.subscribe(touch("c"))
	defer dropped.Close()

	changes.mu.Lock() // the reader of the events stands still
	for i := range most + 1000 {
		touch([]string{"a", "b"}[i%2]) // two equal events in a row would be one
	}
	touch("c")
	changes.mu.Unlock()
	select {
	case <-dropped.changed:
	case <-time.After(recheck / 2):
		t.Error("its event was dropped, and it was not told to look")
	}
}
