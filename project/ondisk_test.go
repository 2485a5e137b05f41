package project

import (
	"os"
	"path/filepath"
	"testing"
)

// Where the file system ignores case, a shell keeps the name of a folder as its person typed it.
func TestAFolderIsOneProjectInEachCase(t *testing.T) {
	dir := t.TempDir()
	getenv := func(name string) string { return map[string]string{"HOME": dir}[name] }
	if err := os.MkdirAll(filepath.Join(dir, "Shop", ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	one, err := Find(getenv, filepath.Join(dir, "Shop"))
	if err != nil {
		t.Fatal(err)
	}
	other, err := Find(getenv, filepath.Join(dir, "shop"))
	if _, serr := os.Stat(filepath.Join(dir, "shop")); serr != nil {
		if err == nil {
			t.Errorf("a folder that is not there has the root %s", other.Path)
		}
	} else if other.Path != one.Path {
		t.Errorf("the roots are %s and %s, %v", one.Path, other.Path, err)
	}
}
