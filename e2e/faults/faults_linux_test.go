package main

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"c2c/e2e/need"
)

// TestNothingIsLostWhereverACallFails is the short form of `make faults`: the commonest commands,
// and the calls that change the disk.
func TestNothingIsLostWhereverACallFails(t *testing.T) {
	if err := permitted(); err != nil {
		need.Skip(t, err.Error())
	}
	bin := t.TempDir()
	build := exec.Command("go", "build", "-o", bin+"/", "c2c/cmd/c2c", "c2c/cmd/c2cd")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	some := []string{"send, behind waiting mail", "poll-inbox, short", "hook, more than it can show",
		"register, the alias of a session that left", "uninstall codex, on its own"}
	chosen := slices.DeleteFunc(scenarios(), func(s *scenario) bool { return !slices.Contains(some, s.name) })
	if len(chosen) != len(some) {
		t.Fatalf("%d scenarios of %q", len(chosen), some)
	}
	quick := &suite{bin: bin, scratch: t.TempDir(), workers: 4, only: func(f fault) bool {
		return f.what != "ENOSPC" && slices.Contains([]string{"write", "fsync", "renameat", "unlinkat", "mkdirat"}, f.call)
	}}
	rows, err := quick.run(chosen)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if r.injected < 10 || r.missed > r.injected/2 {
			t.Errorf("%s: %d faults, %d of which did not come", r.scenario.name, r.injected, r.missed)
		}
		if len(r.findings) > 0 {
			t.Errorf("%s", strings.Join(r.findings, "\n"))
		}
	}
}
