package install

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"c2c/client"
)

// registered has the setup of each client by its name.
var registered = map[string]setup{}

// register adds the setup of a client. The file of a client calls it in init.
func register(client string, s setup) {
	s.name = client
	registered[client] = s
}

// HooksByVariable returns the clients whose hook at PostToolUse answers with the mail of the session
// that a variable of the environment names.
func HooksByVariable() []string {
	return slices.DeleteFunc(client.Names(), func(name string) bool { return !registered[name].byVariable })
}

// findSetup returns the setup of a client, and all files that it may edit under o.
func findSetup(name string, o Options) (s setup, targets []target, err error) {
	s, known := registered[name]
	if !known {
		return s, nil, fmt.Errorf("plan %q: unknown client, known are %s", name, strings.Join(client.Names(), ", "))
	}
	for what, path := range map[string]string{"home": o.Home, "binary": o.Binary, "state directory": o.StateDir} {
		if !filepath.IsAbs(path) {
			return s, nil, fmt.Errorf("plan %s: %s %q is not an absolute path", name, what, path)
		}
	}
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
