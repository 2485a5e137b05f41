package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
)

func TestANoteIsReplacedWhole(t *testing.T) {
	d, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if _, err := d.ReadNote("note"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("there is none: %v", err)
	}
	if err := os.Symlink("left by a dead writer", filepath.Join(d.Path(), lockedTemp("note"))); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := range 50 {
				if err := d.WriteNote("note", strconv.Itoa(100*i+n)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if text, err := d.ReadNote("note"); err != nil || text == "" || text[len(text)-2:] != "49" {
		t.Errorf("%q, %v", text, err)
	}
	if err := d.MakeNote("note", "second"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("it is made twice: %v", err)
	}
	if err := os.WriteFile(filepath.Join(d.Path(), "file"), []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := d.ReadNote("file"); err == nil {
		t.Errorf("a file is read as the note %q", text)
	}
}
