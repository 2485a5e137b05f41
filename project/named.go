package project

import (
	"errors"
	"io/fs"
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
	err = errors.Join(unlessAbsent(perr), unlessAbsent(rerr))
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		path := filepath.Join(state, ReposDir, e.Name(), "broker")
		info, lerr := os.Lstat(path)
		if lerr == nil && info.IsDir() {
			all = append(all, Root{path, names[e.Name()]})
		}
		if !errors.Is(lerr, fs.ErrPermission) { // otherwise it is another user's
			err = errors.Join(err, unlessAbsent(lerr))
		}
	}
	return all, err
}

func unlessAbsent(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
