package project

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestRootsGoByTheNameOfTheirProject(t *testing.T) {
	state := t.TempDir()
	root := func(fp string) string {
		t.Helper()
		path := filepath.Join(state, ReposDir, fp, "broker")
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	point := func(dir, name, target string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(state, dir), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(link{dir, name, target}.target(), filepath.Join(state, dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if all, err := RootsIn(state); len(all) > 0 || err != nil {
		t.Errorf("without a root: %v, %v", all, err)
	}
	const a, b, merged, old, now, own = "aaaaaaaaaaaa", "bbbbbbbbbbbb", "cccccccccccc", "111111111111", "222222222222", "333333333333"
	want := []Root{{root(a), now}, {root(b), own}, {root("default"), ""}}
	point(ReposDir, merged, b)
	point(ProjectsDir, now, a)
	point(ProjectsDir, old, a)
	point(ProjectsDir, own, merged)
	point(ProjectsDir, now+"."+b, b)
	point(ProjectsDir, "444444444444", "dddddddddddd")
	long := time.Now().Add(-time.Hour)
	if err := unix.Lutimes(filepath.Join(state, ProjectsDir, old), []unix.Timeval{unix.NsecToTimeval(long.UnixNano()), unix.NsecToTimeval(long.UnixNano())}); err != nil {
		t.Fatal(err)
	}
	if all, err := RootsIn(state); !slices.Equal(all, want) || err != nil {
		t.Errorf("%v, %v\nwant %v", all, err, want)
	}
}

// The working directory may be somebody else's repository.
func TestARootThatAVariableNamesKnowsNoProjectsOfTheWorkingDirectory(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.MkdirAll(filepath.Join(ReposDir, "0123456789ab", "broker"), 0o700); err != nil {
		t.Fatal(err)
	}
	if all, err := In(StateOf("/elsewhere/root")); len(all) > 0 || err != nil {
		t.Errorf("%+v, %v", all, err)
	}
}
