package inbox

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestMailThatWaitsShowsInTheLockFilesTime(t *testing.T) {
	m, root := newBox(t)
	deliver(t, m, letter("one"))
	path := filepath.Join(root, m.LockName())
	long := time.Unix(1_000_000, 0)
	changed := func() bool {
		t.Helper()
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return !info.ModTime().Equal(long)
	}
	if err := os.Chtimes(path, long, long); err != nil {
		t.Fatal(err)
	}
	if _, err := drain(t.Context(), m, "test"); err != nil {
		t.Fatal(err)
	}
	if changed() {
		t.Error("a reader has changed it")
	}
	deliver(t, m, letter("two"))
	if !changed() {
		t.Error("a delivery has not changed it")
	}
	if err := os.Chtimes(path, long, long); err != nil {
		t.Fatal(err)
	}
	if err := lease(t, m).Release(); err != nil {
		t.Fatal(err)
	}
	if !changed() {
		t.Error("what was given back has not changed it")
	}
}

// A watcher tells by it that mail waits again.
func TestMailThatIsGivenBackOrLeftByADeadReaderShowsInTheStamp(t *testing.T) {
	m, _ := newBox(t)
	deliver(t, m, letter("one"))
	for name, end := range map[string]func(*Lease) error{"given back": (*Lease).Release, "left": (*Lease).close} {
		l := lease(t, m)
		held, err := m.Stamp()
		if err != nil {
			t.Fatal(err)
		}
		if err := end(l); err != nil {
			t.Fatal(err)
		}
		if free, err := m.Stamp(); err != nil || free == held {
			t.Errorf("%s: then %v, %v", name, free, err)
		}
	}
}
