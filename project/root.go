package project

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// Place is the root of a project, and the data by which it was found.
type Place struct {
	Path, Source string
	// Former has the earlier roots of the repository, if it had another root when c2c was last used
	// in it: its remote was changed, or its folder renamed. It keeps a former root while sessions
	// of that one run.
	Former     []string
	state      string // "" if a variable names the root
	project    project
	links      []link // the links that are missing
	folder     Folder
	folderName string // of the link to folder
	changed    bool   // the link to folder is missing, or names another root
	former     []Folder
}

// Top returns the top directory of the repository; "" outside of every repository.
func (p Place) Top() string { return p.folder.Path }

// Find returns the directory that holds the mail of the repository around cwd, and the name of the
// environment variable by which it was found. It creates nothing: Record makes the missing links.
// Only package broker may open the place that it returns, because sessions that run may keep a
// former root of the repository.
//
// All clones of one remote, and all work trees of one repository, share a root, except a clone that
// a person has split from them (Split). Older programs have one root for each spelling of the
// remote's URL: repos/<fingerprint of the URL>. Find uses such a root if it exists:
//
//   - If there is a directory repos/<fingerprint of this clone's own URL>, it is the root,
//     whichever program made it.
//   - Else, if there is a link projects/<fingerprint of the project's name>, it leads to the root.
//     broker.OpenHere makes this link before it first makes or uses a root of the project. Only one
//     process can make the link, so all later processes find the same root.
//   - Else, if there is a directory for another usual spelling of the URL, it is the root.
//   - Else the root will be repos/<fingerprint of this clone's own URL>.
//
// If the root is not repos/<own fingerprint>, OpenHere makes this name a link to the root. Older
// programs follow this link. The link also keeps any program from making a directory there, which
// would separate this clone from the others.
func Find(getenv func(string) string, cwd string) (Place, error) {
	root := Named(getenv)
	if filepath.IsAbs(root) {
		return Place{Path: filepath.Clean(root), Source: "C2C_MCP_BROKER_ROOT"}, nil
	}
	// If the working directory does not exist, return an error: otherwise all projects would share
	// the root "default".
	real, err := filepath.EvalSymlinks(cwd) // git resolves symbolic links, too
	if cwd == "" || err != nil {
		return Place{}, errors.New("find the root: there is no working directory, perhaps it was removed: " +
			"go to the project's directory, or set C2C_MCP_BROKER_ROOT to an absolute path")
	}
	if root != "" {
		return Place{Path: filepath.Join(cwd, root), Source: "C2C_MCP_BROKER_ROOT"}, nil
	}
	state, source := StateDir(getenv)
	if state == "" {
		return Place{}, errors.New("find the root: none of C2C_MCP_BROKER_ROOT, XDG_STATE_HOME, HOME is set: set HOME to your home directory")
	}
	if !filepath.IsAbs(state) { // with a relative path, each directory would have a root of its own
		return Place{}, fmt.Errorf("find the root: %s is %q: set it to an absolute path", source, getenv(source))
	}
	p := Place{Source: source, state: state, project: findProject(onDisk(real))}
	name, last := p.project.own, p.lastUsed()
	switch {
	case p.folder.own:
		name = last.root
	case p.project.name != "":
		name = p.decide()
	}
	p.Path = filepath.Join(p.state, ReposDir, name, "broker")
	p.remember(name, last)
	return p, nil
}

// Named returns the root that C2C_MCP_BROKER_ROOT names, or "".
func Named(getenv func(string) string) string {
	root := strings.TrimSpace(getenv("C2C_MCP_BROKER_ROOT"))
	if strings.Contains(root, ".git/c2c/mcp") { // an older program wrote this into clients' configurations
		return ""
	}
	return root
}

// StateDir returns the directory of all roots and links, and the environment variable by which it
// was found. It returns "" if no variable is set.
func StateDir(getenv func(string) string) (dir, source string) {
	if state := getenv("XDG_STATE_HOME"); state != "" {
		return filepath.Join(state, "c2c"), "XDG_STATE_HOME"
	}
	if home := getenv("HOME"); home != "" {
		return filepath.Join(home, ".c2c"), "HOME"
	}
	return "", ""
}

// FindStateDir is like StateDir; without an absolute path it returns an error that says what to
// set.
func FindStateDir(getenv func(string) string) (string, error) {
	dir, source := StateDir(getenv)
	if !filepath.IsAbs(dir) {
		return "", fmt.Errorf("find the state directory: set XDG_STATE_HOME or HOME to an absolute path (%s is %q)", source, dir)
	}
	return dir, nil
}

func absolute(cwd, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(cwd, path)
}
