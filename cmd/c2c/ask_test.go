package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"c2c/cmd/cli"
)

// Nobody waits for a session that has ended: what was asked is told at once to wait there, as the
// tool does.
func TestAskDoesNotWaitForAnAbsentSession(t *testing.T) {
	root := scratch(t)
	path := filepath.Join(root, "registry.json")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	ended := `[{"session_id":"coral","alias":"coral","pid":1,"pid_start_time":1,"registered_at":1.0},`
	if err := os.WriteFile(path, []byte(ended+strings.TrimPrefix(strings.TrimSpace(string(text)), "[")), 0o600); err != nil {
		t.Fatal(err)
	}
	_, errs, code := run(t, root, "amber", "ask", "coral", "--wait", "10h", "are you there?")
	if code != cli.Nothing || !strings.Contains(errs, "coral is absent, and question ") || !strings.Contains(errs, "hint: a later answer comes as mail") {
		t.Errorf("exit %d, %s", code, errs)
	}
	if out := mustRun(t, root, "coral", "peek-inbox"); !strings.Contains(out, "are you there?") {
		t.Errorf("coral has %q", out)
	}
}
