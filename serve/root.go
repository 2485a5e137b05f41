package serve

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"c2c/broker"
	"c2c/internal/proc"
)

// ProjectHeader is the header with the directory in which a client works.
const ProjectHeader = "X-C2C-Project"

const maxPath = 4096

// ErrProject: the project that a request names is not a directory.
var ErrProject = errors.New(ProjectHeader + " must be the absolute path of a directory")

// The reasons why RootFor chose a root.
const (
	ByHeader    = "header"    // the request names a directory
	ByProcess   = "process"   // the directory in which the client runs
	ByDirectory = "directory" // the directory in which the daemon was started
)

// RootFor finds the root of a request and opens it; it makes the root if necessary. It takes the
// root of the first known directory: the directory in the header, the working directory of the
// client's process, the directory in which the daemon was started. The result by says which of them
// it was.
//
// If the header names a directory that does not exist, or the root of the process's repository
// cannot be opened, for whatever reason, RootFor returns an error: mail in the wrong project is
// worse than no mail.
func (s *Server) RootFor(r *http.Request) (root, by string, err error) {
	root, dir, by, err := s.find(r)
	if err == nil {
		root, err = s.roots.keep(root, func(string) (*broker.Broker, error) {
			b, err := s.cfg.OpenHere(dir)
			if err != nil {
				return nil, fmt.Errorf("open the root of %s: %w", dir, err)
			}
			return b, nil
		})
	}
	return root, by, err
}

// find finds the root of a request, and the directory that decides it.
func (s *Server) find(r *http.Request) (root, dir, by string, err error) {
	dir, err = projectOf(r)
	if err != nil {
		return "", "", "", err
	}
	if dir != "" {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return "", "", ByHeader, ErrProject
		}
		root, err = broker.RootHere(s.cfg.Getenv, dir)
		return root, dir, ByHeader, err
	}
	dir = workingDirectory(ProcessOf(r))
	if _, err := os.Stat(dir); dir != "" && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
		if root, err := broker.RootHere(s.cfg.Getenv, dir); !isDefault(root) {
			return root, dir, ByProcess, err
		}
	}
	root, err = broker.RootHere(s.cfg.Getenv, s.cfg.Dir)
	return root, s.cfg.Dir, ByDirectory, err
}

// projectOf returns the directory that a request names, or "". Some clients expand ${…} in the
// header, others send it unchanged. A header with ${…} names no directory.
func projectOf(r *http.Request) (string, error) {
	values := r.Header.Values(ProjectHeader)
	if len(values) == 0 || len(values) == 1 && (values[0] == "" || strings.HasPrefix(values[0], "${")) {
		return "", nil
	}
	dir := values[0]
	if len(values) > 1 || len(dir) > maxPath || !filepath.IsAbs(dir) || strings.ContainsRune(dir, 0) {
		return "", ErrProject
	}
	return filepath.Clean(dir), nil
}

// workingDirectory returns the working directory of a process, "" if c2c cannot find it.
func workingDirectory(pid int) string {
	if pid == 0 {
		return ""
	}
	return proc.Folder(pid)
}

// isDefault reports whether a root is the common root of all directories outside repositories.
// Graphical clients often run in / or in the home directory, whatever project they show, so such a
// working directory proves nothing.
func isDefault(root string) bool {
	return filepath.Base(root) == "broker" && filepath.Base(filepath.Dir(root)) == "default"
}
