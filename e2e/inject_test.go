package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"c2c/e2e/lab"
)

func TestClaudeShowsAnInjectedMessageWhenItIsResumed(t *testing.T) {
	t.Parallel()
	l, model := newLab(t), lab.NewModel(t)
	l.SeedClaude(nil)
	l.Run("c2c", "install", "claude")
	l.Run("c2c", "register", "birch", "--session-id", "birch")
	p := l.Claude(model, "-p", "first prompt")
	p.CloseInput()
	p.Wait()
	id := model.Wait(0).ClaudeSession()
	inject := []string{"c2c", "inject", "--from", "birch", aliasOf(t, l, "claude")}
	before := claudeHistory(t, l)
	for _, body := range []string{"the first body", "the second body"} {
		if out := l.Run(append(inject, body)...); !strings.Contains(out, "claude --resume "+id) {
			t.Errorf("it does not say how it is shown: %s", out)
		}
	}
	if after := claudeHistory(t, l); !strings.HasPrefix(after, before) || strings.Count(after[len(before):], "\n") != 2 {
		t.Errorf("more than two lines were added to\n%s\nas\n%s", before, after)
	}

	tui := l.ClaudeTUI(model, "--resume", id)
	tui.WaitShown("the second body")
	tui.Submit("second prompt")
	r := model.WaitText("second prompt")
	for _, text := range []string{"first prompt", "the first body", "the second body"} {
		if item := once(t, r, text); item.Role != "user" {
			t.Errorf("%q is shown as %+v", text, item)
		}
	}
	before = claudeHistory(t, l)
	if _, err := l.Try(append(inject, "a third body")...); err == nil || !strings.Contains(err.Error(), "a session that runs does not read its history") {
		t.Errorf("while it runs: %v", err)
	}
	if after := claudeHistory(t, l); strings.Contains(after, "a third body") || !strings.HasPrefix(after, before) {
		t.Error("the history of a session that runs was changed")
	}
}

// aliasOf gives the alias of a client's only session.
func aliasOf(t *testing.T, l *lab.Lab, client string) (alias string) {
	t.Helper()
	var sessions []struct{ Alias, Client string }
	if err := json.Unmarshal([]byte(l.Run("c2c", "list", "--json")), &sessions); err != nil {
		t.Fatal(err)
	}
	for _, s := range sessions {
		if s.Client == client {
			alias = s.Alias
		}
	}
	return alias
}

// claudeHistory is the history of Claude's only session.
func claudeHistory(t *testing.T, l *lab.Lab) string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(l.Home, ".claude/projects/*/*.jsonl"))
	if err != nil || len(paths) != 1 {
		t.Fatalf("histories %q, %v", paths, err)
	}
	data, err := os.ReadFile(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
