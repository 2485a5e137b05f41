package cli

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "write docs/commands")

// make docs writes them.
func TestTheCommandPagesAreThoseOfTheTable(t *testing.T) {
	dir := filepath.Join("..", "..", "docs", "commands")
	pages := Pages()
	if *update {
		for name, text := range pages {
			if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	there, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range there {
		if pages[f.Name()] == nil {
			t.Errorf("%s/%s is the page of no verb", dir, f.Name())
		}
	}
	for name, want := range pages {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s/%s is not what the table says: run make docs (%v)", dir, name, err)
		}
	}
}
