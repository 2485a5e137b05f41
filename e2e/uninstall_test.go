package e2e

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"c2c/e2e/lab"
)

// tree maps every file and directory below the given folders to its mode and content, but for what
// skip names (folders ending in a slash).
func tree(t *testing.T, skip []string, folders ...string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() && slices.ContainsFunc(skip, func(s string) bool { return strings.HasSuffix(path+"/", s) }) {
				return fs.SkipDir
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			found[path] = info.Mode().String()
			if d.Type().IsRegular() {
				data, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				found[path] += fmt.Sprintf(" %x", sha256.Sum256(data))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return found
}

func compareTrees(t *testing.T, before, after map[string]string) {
	t.Helper()
	for _, path := range slices.Sorted(maps.Keys(after)) {
		if before[path] == "" {
			t.Errorf("left behind: %s", path)
		} else if before[path] != after[path] {
			t.Errorf("changed: %s", path)
		}
	}
	for path := range before {
		if after[path] == "" {
			t.Errorf("gone: %s", path)
		}
	}
}

func TestUninstallRestoresHomeAndProject(t *testing.T) {
	t.Parallel()
	l, model := newLab(t), lab.NewModel(t)
	l.SeedClaude(map[string]any{"hooks": map[string]any{"Stop": lab.ClaudeHook("true")}})
	l.SeedCodex(model, "# the person's own comment\n[tui]\nanimations = false # and another\n")
	// Only what c2c keeps of messages and undo records may come to be.
	before := tree(t, []string{"/.c2c/", "/.git/"}, l.Home, l.Project)
	l.Run(c2c(), "install")
	if after := tree(t, []string{"/.c2c/", "/.git/"}, l.Home, l.Project); maps.Equal(before, after) {
		t.Fatal("install changed nothing")
	}
	l.Run(c2c(), "uninstall")
	compareTrees(t, before, tree(t, []string{"/.c2c/", "/.git/"}, l.Home, l.Project))
}

// The clients write to their own homes in between, and Codex into the very file that holds our
// table.
func TestUninstallAfterUseTakesOnlyOurPart(t *testing.T) {
	t.Parallel()
	l, model := newLab(t), lab.NewModel(t)
	l.SeedClaude(nil)
	l.SeedCodex(model, "")
	settings := l.Read(".claude/settings.json")
	l.Run(c2c(), "install")
	l.TrustCodexHooks()
	p := l.Claude(model, "-p", "hello")
	p.CloseInput()
	p.Wait()
	l.CodexExec("hello").Wait()
	l.Run(c2c(), "uninstall")
	if after := l.Read(".claude/settings.json"); after != settings {
		t.Errorf("~/.claude/settings.json was\n%s\nis\n%s", settings, after)
	}
	for _, left := range []string{l.Project + "/.mcp.json", l.Home + "/.claude/hooks", l.Home + "/.codex/hooks.json"} {
		if _, err := os.Lstat(left); err == nil {
			t.Errorf("left behind: %s", left)
		}
	}
	config := l.Read(".codex/config.toml")
	if strings.Contains(config, "mcp_servers") || strings.Contains(config, "hooks.state") || !strings.Contains(config, "model_providers.lab") {
		t.Errorf("~/.codex/config.toml is\n%s", config)
	}
}
