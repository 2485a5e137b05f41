package install

import (
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strings"
)

// setups lists every client. A new one gets a line here.
func setups() []setup {
	return []setup{claude(), codex(), opencode(), copilot(), qwen(), kimi(), gemini(), cursor()}
}

// Clients returns every client that PlanInstall knows.
func Clients() (names []string) {
	for _, s := range setups() {
		names = append(names, s.name)
	}
	return names
}

// HookEvents yields each client with a hook that answers with the mail of the session in the environment, and that hook's event.
func HookEvents() iter.Seq2[string, string] {
	return func(yield func(client, event string) bool) {
		for _, s := range setups() {
			if s.event != "" && !yield(s.name, s.event) {
				return
			}
		}
	}
}

// findSetup returns the setup of a client, and all its files that follow from o.
func findSetup(name string, o Options) (s setup, targets []target, err error) {
	i := slices.Index(Clients(), name)
	if i < 0 {
		return s, nil, fmt.Errorf("plan %q: unknown client, known are %s", name, strings.Join(Clients(), ", "))
	}
	for what, path := range map[string]string{"home": o.Home, "binary": o.Binary, "state directory": o.StateDir} {
		if !filepath.IsAbs(path) {
			return s, nil, fmt.Errorf("plan %s: %s %q is not an absolute path", name, what, path)
		}
	}
	s = setups()[i]
	for _, t := range s.files(o) {
		t.client, t.overDaemon = name, s.overHTTP
		if filepath.IsAbs(t.path) {
			targets = append(targets, t)
		} else if !t.other {
			return s, nil, fmt.Errorf("plan %s: project %q is not an absolute path", name, o.Project)
		}
	}
	return s, targets, nil
}
