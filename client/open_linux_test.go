package client

import (
	"os"
	"path/filepath"
	"testing"
)

func TestTheOpenThreadsOfCodexAreThoseWithALockFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), CodexLocks)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"thread-1.lock", "notes.txt"} {
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
	}
	if got, known := codex().Open(os.Getpid()); len(got) != 1 || !got["thread-1"] || !known {
		t.Errorf("open %v, %v", got, known)
	}
	if got, known := codex().Open(1 << 30); len(got) != 0 || known {
		t.Errorf("a process that is gone has %v open, %v", got, known)
	}
}
