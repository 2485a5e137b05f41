package project

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"c2c/internal/atomicfile"
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
// gets the name of the latest remote. After an error roots or names may be missing.
func RootsIn(state string) (all []Root, err error) {
	names := map[string]string{} // keyed by the root's directory
	since := map[string]time.Time{}
	entries, perr := os.ReadDir(filepath.Join(state, ProjectsDir))
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
	entries, rerr := os.ReadDir(filepath.Join(state, ReposDir))
	err = errors.Join(atomicfile.UnlessAbsent(perr), atomicfile.UnlessAbsent(rerr))
	for _, e := range entries {
		path := filepath.Join(state, ReposDir, e.Name(), "broker")
		info, lerr := os.Lstat(path)
		switch {
		case !e.IsDir(), errors.Is(lerr, fs.ErrNotExist), errors.Is(lerr, fs.ErrPermission): // a link, or another user's
		case lerr != nil:
			err = errors.Join(err, lerr)
		case info.IsDir():
			all = append(all, Root{path, names[e.Name()]})
		}
	}
	return all, err
}
