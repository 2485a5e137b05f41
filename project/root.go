package project

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// FindRoot says which directory holds the mail of the repository around cwd, and which variable
// decided it. It creates nothing.
//
// All clones of one remote, and all work trees of one repository, share a root. The original has one for each spelling of the
// remote's URL: repos/<fingerprint of the URL>. What of that is there is used, so that both may run on one machine:
//
//   - A directory repos/<fingerprint of this clone's own URL> is its root, whoever made it.
//   - Else projects/<fingerprint of the project's name> leads to the root: a link that OpenHere makes before it first
//     makes or uses a root of the project. Only one process can make it, so all that come later have the same root.
//   - Else a directory of another usual spelling of the URL is the root; else it will be the one of the URL.
//
// Where the root is not the clone's own, OpenHere makes repos/<own fingerprint> a link to it: the original and our
// older versions follow it, and no directory can come there later and take the clone away from the others.
func FindRoot(getenv func(string) string, cwd string) (path, source string, err error) {
	p, err := Find(getenv, cwd)
	return p.Path, p.source, err
}

// place is where the root of a project is.
type place struct {
	Path, source string
	state        string // "" when a variable names the root
	project      project
	links        []link // that are missing
}

func Find(getenv func(string) string, cwd string) (place, error) {
	root := strings.TrimSpace(getenv("C2C_MCP_BROKER_ROOT"))
	if strings.Contains(root, ".git/c2c/mcp") { // early versions of the original wrote that into clients' configurations; it ignores it now
		root = ""
	}
	if filepath.IsAbs(root) {
		return place{Path: filepath.Clean(root), source: "C2C_MCP_BROKER_ROOT"}, nil
	}
	// Without a directory every project would share the root "default".
	real, err := filepath.EvalSymlinks(cwd) // as git prints it
	if cwd == "" || err != nil {
		return place{}, errors.New("find the root: there is no working directory, perhaps it was removed: " +
			"go to the project's directory, or set C2C_MCP_BROKER_ROOT to an absolute path")
	}
	if root != "" {
		return place{Path: filepath.Join(cwd, root), source: "C2C_MCP_BROKER_ROOT"}, nil
	}
	state, source := StateDir(getenv)
	if state == "" {
		return place{}, errors.New("find the root: none of C2C_MCP_BROKER_ROOT, XDG_STATE_HOME, HOME is set: set HOME to your home directory")
	}
	if !filepath.IsAbs(state) { // each directory would have a root of its own
		return place{}, fmt.Errorf("find the root: %s is %q: set it to an absolute path", source, getenv(source))
	}
	p := place{source: source, state: state, project: findProject(real)}
	name := p.project.own
	if p.project.name != "" {
		name = p.decide()
	}
	p.Path = filepath.Join(p.state, ReposDir, name, "broker")
	return p, nil
}

// StateDir is the directory of all roots and pointers, and which variable decided it; "" when none is set.
func StateDir(getenv func(string) string) (dir, source string) {
	if state := getenv("XDG_STATE_HOME"); state != "" {
		return filepath.Join(state, "c2c"), "XDG_STATE_HOME"
	}
	if home := getenv("HOME"); home != "" {
		return filepath.Join(home, ".c2c"), "HOME"
	}
	return "", ""
}

func absolute(cwd, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(cwd, path)
}
