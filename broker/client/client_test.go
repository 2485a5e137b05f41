package client

import (
	"reflect"
	"slices"
	"testing"
)

func TestEveryProfileIsComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range All() {
		if p.Name == "" || p.AliasPrefix == "" || p.ConfigDir == "" {
			t.Errorf("profile %+v lacks a name, an alias prefix or a directory", p)
		}
		if (p.TrustEnv || p.ShellEnv) && p.SessionEnv == "" {
			t.Errorf("%s: trusts an environment variable it does not name", p.Name)
		}
		for _, name := range append([]string{p.Name}, p.Aliases...) {
			if seen[name] {
				t.Errorf("%s: listed twice", name)
			}
			seen[name] = true
			if got, ok := Find(name); !ok || !reflect.DeepEqual(got, p) {
				t.Errorf("Find(%q) = %+v, %v", name, got, ok)
			}
		}
		if got, ok := ByInfo(p.Info + "-mcp-client"); p.Info != "" && (!ok || got.Name != p.Name) {
			t.Errorf("%s: its clientInfo is taken for that of %q", p.Name, got.Name)
		}
	}
}

func TestAnUnknownClientHasNoProfile(t *testing.T) {
	if p, ok := Find(""); ok {
		t.Errorf("no name finds %s", p.Name)
	}
	for _, info := range []string{"", "gem", "my-claude-code"} {
		if p, ok := ByInfo(info); ok {
			t.Errorf("clientInfo %q finds %s", info, p.Name)
		}
	}
}

func TestOnlyClaudeEnvironmentIsBelieved(t *testing.T) {
	for _, p := range All() {
		if p.TrustEnv != (p.Name == "claude") {
			t.Errorf("%s: TrustEnv = %v", p.Name, p.TrustEnv)
		}
	}
}

func TestConfigFollowsTheVariable(t *testing.T) {
	for _, p := range All() {
		env := map[string]string{"HOME": "/h"}
		getenv := func(name string) string { return env[name] }
		if dir, set := p.Config(getenv); dir != "/h/"+p.ConfigDir || set {
			t.Errorf("%s: %q, %v", p.Name, dir, set)
		}
		env[p.ConfigEnv] = "/elsewhere/"
		if dir, set := p.Config(getenv); p.ConfigEnv != "" && (dir != "/elsewhere" || !set) {
			t.Errorf("%s: %q, %v", p.Name, dir, set)
		}
	}
}

func TestCleanTakesOutWhatAnOuterSessionLeft(t *testing.T) {
	got := Clean([]string{"PATH=/bin", "CLAUDECODE=1", "CLAUDE_CODE_SESSION_ID=x", "CODEX_THREAD_ID=y", "C2C_MCP_SESSION_ID=z", "CODEX_HOME=/h"})
	if want := []string{"PATH=/bin", "CODEX_HOME=/h"}; !slices.Equal(got, want) {
		t.Errorf("kept %q, want %q", got, want)
	}
}
