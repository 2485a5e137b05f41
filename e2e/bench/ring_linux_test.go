package main

import (
	"os"
	"path/filepath"
	"testing"
)

// A watcher whose lock file is not there yet looks once a second: the row would measure that.
func TestTheLockOfTheRingRowIsThereBeforeItsWatcher(t *testing.T) {
	w := &world{root: t.TempDir()}
	if err := withBells(w); err != nil {
		t.Fatal(err)
	}
	defer w.end()
	if _, err := os.Stat(filepath.Join(w.root, w.bells.lock)); err != nil {
		t.Error(err)
	}
}
