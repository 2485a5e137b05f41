package inbox

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestADeliveryAndNothingElseShowsInTheLockFilesTime(t *testing.T) {
	m, root := newBox(t)
	deliver(t, m, mail("one"))
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
	l := lease(t, m)
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Drain(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	if changed() {
		t.Error("a reader has changed it")
	}
	deliver(t, m, mail("two"))
	if !changed() {
		t.Error("a delivery has not changed it")
	}
}
