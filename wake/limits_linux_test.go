package wake

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// A user has 128 watch instances, and editors like them too.
func TestMailIsNoticedWhenTheWatchesHaveRunOut(t *testing.T) {
	var fds []int
	defer func() {
		for _, fd := range fds {
			unix.Close(fd)
		}
	}()
	for range 100_000 {
		fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
		if err != nil {
			break
		}
		fds = append(fds, fd)
	}
	changes := NewChanges()
	defer changes.Close()
	if changes.source != nil {
		t.Fatalf("after %d instances there is still one", len(fds))
	}
	file := filepath.Join(t.TempDir(), "lock")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	looked := 0
	err := Wait(t.Context(), file, func() (bool, error) {
		looked++
		return looked > 1, nil // nobody tells it of the second look
	})
	if err != nil || looked != 2 {
		t.Errorf("looked %d times, %v", looked, err)
	}
}

func TestAWatchedFileThatIsRemovedIsAChange(t *testing.T) {
	file := filepath.Join(t.TempDir(), "lock")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	changes := NewChanges()
	defer changes.Close()
	sub := changes.Subscribe(file)
	defer sub.Close()
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	<-sub.changed
}
