package relayed

import (
	"os"
	"path/filepath"
	"testing"

	"c2c/inbox/atomicfile"
	"c2c/project"
	"c2c/relay"
)

// A disk may be full at the moment when a project comes.
func TestNumbersOfRefusedMailStayUntilTheRootHasThem(t *testing.T) {
	home := t.TempDir()
	dir, err := atomicfile.Create(filepath.Join(home, "relay"))
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	old, err := atomicfile.Create(filepath.Join(dir.Path(), absentDir, "p-1", relay.Directory))
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	if err := old.Replace("devbox.hw.json", []byte("{}\n")); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(home, "root")
	inTheWay := filepath.Join(path, relay.Directory)
	if err := os.MkdirAll(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(inTheWay, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r := &roots{h: &Host{Relay: &Relay{}}, open: map[string]*root{}}
	r.h.Relay.Dir = dir
	here := project.Root{Name: "p-1", Path: path}
	if err := r.present(here); err == nil {
		t.Fatal("a file in the way of the directory is no error")
	}
	if err := os.Remove(inTheWay); err != nil {
		t.Fatal(err)
	}
	if err := r.present(here); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(filepath.Join(inTheWay, "devbox.hw.json")); err != nil || string(data) != "{}\n" {
		t.Errorf("%q %v", data, err)
	}
}
