package machines

import (
	"io/fs"
	"path/filepath"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
)

// patience is much longer than any wait in these tests should take.
const patience = time.Minute

// Until returns when look returns true. It calls look again at each poke, and whenever a file below
// the directories has changed. If look does not return true in time, the test fails; what names the
// awaited state.
func Until(t testing.TB, what string, look func() bool, poke <-chan struct{}, dirs ...string) {
	t.Helper()
	until(t, patience, what, look, poke, dirs...)
}

func until(t testing.TB, patience time.Duration, what string, look func() bool, poke <-chan struct{}, dirs ...string) {
	t.Helper()
	w, err := fsnotify.NewBufferedWatcher(4096)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for _, dir := range dirs {
		watchBelow(w, dir)
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	for !look() {
		select {
		case e := <-w.Events:
			if e.Has(fsnotify.Create) {
				watchBelow(w, e.Name)
			}
		case <-w.Errors: // some events were lost
		case <-poke:
		case <-late.C:
			t.Fatalf("waited too long until: %s", what)
		}
		settle(w)
	}
}

// settle drops the events that are there already, because one call of look is enough for all of
// them.
func settle(w *fsnotify.Watcher) {
	for {
		select {
		case e := <-w.Events:
			if e.Has(fsnotify.Create) {
				watchBelow(w, e.Name)
			}
		default:
			return
		}
	}
}

// watchBelow watches a directory and all directories below it. It ignores errors: a directory that
// is gone needs no watch.
func watchBelow(w *fsnotify.Watcher, dir string) {
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			w.Add(path)
		}
		return nil
	})
}
