package project

import (
	"os"
	"path/filepath"
	"testing"
)

// withGit puts a script called git into a directory of its own.
func withGit(t *testing.T, script string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "git"), []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestGitIsAskedInTheDirectory(t *testing.T) {
	t.Setenv("PATH", withGit(t, `/bin/pwd; echo "$PWD" "$@"; echo noise >&2; read line || echo end`)+":"+os.Getenv("PATH"))
	t.Setenv("PWD", "/elsewhere")
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	said, err := runGit(dir, "rev-parse", "--show-toplevel")
	if want := dir + "\n" + dir + " rev-parse --show-toplevel\nend\n"; said != want || err != nil {
		t.Errorf("%q, %v; want %q", said, err, want)
	}
}

func TestGitThatFailsSaysNothing(t *testing.T) {
	for name, script := range map[string]string{"status": "echo x; exit 1", "signal": "echo x; kill -9 $$"} {
		t.Setenv("PATH", withGit(t, script))
		if said, err := runGit(t.TempDir(), "config"); err == nil {
			t.Errorf("%s: %q and no error", name, said)
		}
		if r := askGit(t.TempDir(), "gitdir"); r != (repository{dir: "gitdir"}) {
			t.Errorf("%s: %+v", name, r)
		}
	}
}
