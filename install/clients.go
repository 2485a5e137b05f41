package install

import (
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strings"
)

// setups returns the setup of every client. A new client gets a line here.
func setups() []setup {
	return []setup{claude(), codex(), opencode(), copilot(), qwen(), kimi(), gemini(), cursor()}
}

// Clients returns the name of every client that PlanInstall knows.
func Clients() (names []string) {
	for _, s := range setups() {
		names = append(names, s.name)
	}
	return names
}

// HookEvents yields the clients whose hook finds its session by a variable of the environment. With each client it yields an event at
// which the hook answers with the session's mail.
func HookEvents() iter.Seq2[string, string] {
	return func(yield func(client, event string) bool) {
		for _, s := range setups() {
			if s.event != "" && !yield(s.name, s.event) {
				return
			}
		}
	}
}

// findSetup returns the setup of a client, and all files that it may edit under o.
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
