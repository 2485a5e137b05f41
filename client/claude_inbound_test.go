package client

import (
	"os"
	"path/filepath"
	"testing"
)

// A project may only tighten what its person has set.
func TestTheStrictestSettingOfClaudeCounts(t *testing.T) {
	config, project := t.TempDir(), t.TempDir()
	getenv := func(name string) string { return map[string]string{"CLAUDE_PROJECT_DIR": project}[name] }
	if err := os.Mkdir(filepath.Join(project, ".claude"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ person, shared, local, want string }{
		{"", "", "", ""},
		{"{}", "no JSON", "[]", ""},
		{`{"crossSessionInbound":"accept"}`, `{"crossSessionInbound":"hold"}`, "", ClaudeHolds},
		{`{"crossSessionInbound":"hold"}`, `{"crossSessionInbound":"accept"}`, `{"crossSessionInbound":"refuse"}`, ClaudeRefuses},
		{`{"crossSessionInbound":"refuse"}`, `{"crossSessionInbound":"accept"}`, "", ClaudeRefuses},
	} {
		for path, text := range map[string]string{filepath.Join(config, "settings.json"): tc.person,
			filepath.Join(project, ".claude", "settings.json"): tc.shared, filepath.Join(project, ".claude", "settings.local.json"): tc.local} {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := ClaudeInbound(config, getenv); got != tc.want {
			t.Errorf("%+v: %q", tc, got)
		}
	}
}
