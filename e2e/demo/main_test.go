package main

import (
	"os/exec"
	"testing"
)

// The README names it to newcomers: make demo.
func TestTheDemoComesToItsEnd(t *testing.T) {
	bin := t.TempDir()
	if out, err := exec.Command("go", "build", "-o", bin, "c2c/cmd/...").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := run(bin); err != nil {
		t.Error(err)
	}
}
