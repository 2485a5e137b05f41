package project

import (
	"os"
	"path/filepath"
	"time"
)

// Root is the root of a project below a state directory.
type Root struct {
	Path string
	// Name is the project's name. If the project has a remote, the name is the same on all
	// machines. It is "" if the root has no name: for example, a directory without a repository has
	// such a root.
	Name string
}

// RootsIn returns the roots below a state directory. If a project has had several remotes, its root
// gets the name of the latest remote.
func RootsIn(state string) (all []Root) {
	names := map[string]string{} // keyed by the root's directory
	since := map[string]time.Time{}
	entries, _ := os.ReadDir(filepath.Join(state, ProjectsDir))
	for _, e := range entries {
		root, _ := linked(state, ProjectsDir, e.Name())
		info, err := e.Info()
		if root == "" || err != nil || !isFingerprint(e.Name()) { // other links are notes for c2c doctor
			continue
		}
		if root = follow(state, root); info.ModTime().After(since[root]) || names[root] == "" {
			names[root], since[root] = e.Name(), info.ModTime()
		}
	}
	entries, _ = os.ReadDir(filepath.Join(state, ReposDir))
	for _, e := range entries {
		path := filepath.Join(state, ReposDir, e.Name(), "broker")
		if info, err := os.Lstat(path); e.IsDir() && err == nil && info.IsDir() {
			all = append(all, Root{path, names[e.Name()]})
		}
	}
	return all
}
