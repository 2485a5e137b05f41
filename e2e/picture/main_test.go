package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"c2c/e2e/need"
)

// The README shows what the programs print today.
func TestThePictureIsNotStale(t *testing.T) {
	t.Parallel()
	need.Tools(t, "script")
	bin := t.TempDir()
	if out, err := exec.Command("go", "build", "-o", bin+"/", "c2c/cmd/c2c", "c2c/cmd/c2cd").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	got, err := picture(bin)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(filepath.Join("..", "..", "docs", "two-terminals.svg"))
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("docs/two-terminals.svg is stale: run make docs (%v)", err)
	}
}
