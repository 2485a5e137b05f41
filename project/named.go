package project

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Root is the root of a project below a state directory.
type Root struct {
	Path string
	// Name is that of the project: of one with a remote it is the same on all machines. It is "" if the root has none, as that of
	// a directory without a repository.
	Name string
}

// RootsIn gives the roots below a state directory. A project that has had several remotes goes by the one that was seen last.
func RootsIn(state string) (all []Root) {
	names := map[string]string{} // by the directory of the root
	since := map[string]time.Time{}
	entries, _ := os.ReadDir(filepath.Join(state, ProjectsDir))
	for _, e := range entries {
		root, _ := linked(state, ProjectsDir, e.Name())
		info, err := e.Info()
		if root == "" || err != nil || !isFingerprint(e.Name()) { // the others are notes for doctor
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
	slices.SortFunc(all, func(a, b Root) int { return strings.Compare(a.Path, b.Path) })
	return all
}
