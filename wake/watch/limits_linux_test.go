package watch

import (
	"os"
	"path/filepath"
	"testing"

	"c2c/e2e/namespace"
)

// A user has 128 watch instances, and editors like them too.
func TestMailIsNoticedWhenTheWatchesHaveRunOut(t *testing.T) {
	if !namespace.Enter(t) { // the limit is everybody's, and other tests watch too
		return
	}
	if err := os.WriteFile("/proc/sys/user/max_inotify_instances", []byte("0"), 0o600); err != nil {
		t.Fatal(err)
	}
	changes := NewChanges()
	defer changes.Close()
	if changes.source != nil {
		t.Fatal("there is still one")
	}
	file := filepath.Join(t.TempDir(), "lock")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	looked := 0
	err := changes.Until(t.Context(), file, func() (bool, error) {
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
	sub := changes.subscribe(file)
	defer sub.Close()
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	<-sub.changed
}
