package client

import "testing"

func TestEveryProfileIsComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range All() {
		if p.Name == "" || p.AliasPrefix == "" {
			t.Errorf("profile %+v lacks a name or an alias prefix", p)
		}
		if (p.TrustEnv || p.ShellEnv) && p.SessionEnv == "" {
			t.Errorf("%s: trusts an environment variable it does not name", p.Name)
		}
		if seen[p.Name] {
			t.Errorf("%s: listed twice", p.Name)
		}
		seen[p.Name] = true
		if got, ok := Find(p.Name); !ok || got != p {
			t.Errorf("Find(%q) = %+v, %v", p.Name, got, ok)
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
