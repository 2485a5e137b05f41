package watch

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestADirectoryAndAFileAreWatched(t *testing.T) {
	for name, there := range map[string]bool{"a file in a directory": true, "the file": false} {
		dir := filepath.Join(t.TempDir(), "dir")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		path, file := dir, filepath.Join(dir, "file")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if !there {
			path = file
		}
		told := make(chan int, 100)
		s := newSource(func(id int, _ string) { told <- id })
		id, err := s.Add(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		select {
		case got := <-told:
			if got != id {
				t.Errorf("%s: told of %d, want %d", name, got, id)
			}
		case <-time.After(time.Minute):
			t.Errorf("%s: nothing is told", name)
		}
		s.Close()
	}
}
