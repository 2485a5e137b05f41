package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"c2c/cmd/cli"
)

// Pointers of other roots lie in the same directory.
func TestPruneRemovesThePointersOfSessionsThatAreGone(t *testing.T) {
	root := scratch(t)
	if _, errs, code := claudeEvent(t, root, "SessionStart"); code != cli.Done {
		t.Fatal(errs)
	}
	dir := filepath.Join(filepath.Dir(root), ".c2c", "pointers")
	for name, box := range map[string]string{"lost": root + "/nobody", "nested": root + "/deeper/nobody", "other": root + "2/nobody", "empty": "", "young": root + "/nobody"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(box+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pointers := func() string {
		all, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, e := range all {
			if names = append(names, e.Name()); e.Name() != "young" {
				old := time.Now().Add(-100 * 24 * time.Hour)
				if err := os.Chtimes(filepath.Join(dir, e.Name()), old, old); err != nil {
					t.Fatal(err)
				}
			}
		}
		return strings.Join(names, " ")
	}
	before := pointers()
	if out := mustRun(t, root, "", "prune", "--older", "90d", "--dry-run"); !strings.Contains(out, "pointers: 1") || pointers() != before {
		t.Errorf("a dry run said %s and left %s of %s", out, pointers(), before)
	}
	if out := mustRun(t, root, "", "prune", "--older", "90d"); !strings.Contains(out, "pointers: 1") || pointers() != "empty nested other u1 young" {
		t.Errorf("it said %s and left %s of %s", out, pointers(), before)
	}
	if _, errs, code := claudeEvent(t, root, "PostToolUse"); code != cli.Done || errs != "" {
		t.Errorf("the session that stayed: exit %d, %s", code, errs)
	}
}
