package broker

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// FindRoot says which directory holds the mail of the repository around cwd, and which variable
// decided it. It creates nothing. Two checkouts of one remote share a root; the rules are those of the
// original c2c, bit for bit, because both may run on one machine.
func FindRoot(getenv func(string) string, cwd string) (path, source string, err error) {
	root := strings.TrimSpace(getenv("C2C_MCP_BROKER_ROOT"))
	if isLegacy(root) {
		root = ""
	}
	if filepath.IsAbs(root) {
		return filepath.Clean(root), "C2C_MCP_BROKER_ROOT", nil
	}
	// Without a directory every project would share the root "default".
	real, err := filepath.EvalSymlinks(cwd) // as git prints it
	if cwd == "" || err != nil {
		return "", "", errors.New("find the root: there is no working directory, perhaps it was removed: " +
			"go to the project's directory, or set C2C_MCP_BROKER_ROOT to an absolute path")
	}
	if root != "" {
		return filepath.Join(cwd, root), "C2C_MCP_BROKER_ROOT", nil
	}
	state, source := StateDir(getenv)
	if state == "" {
		return "", "", errors.New("find the root: none of C2C_MCP_BROKER_ROOT, XDG_STATE_HOME, HOME is set")
	}
	if !filepath.IsAbs(state) { // each directory would have a root of its own
		return "", "", fmt.Errorf("find the root: %s is %q: set it to an absolute path", source, getenv(source))
	}
	return filepath.Join(state, "repos", fingerprint(real), "broker"), source, nil
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

// isLegacy knows the place inside a repository that early versions of the original wrote into client
// configurations; it ignores that place, and so do we.
func isLegacy(path string) bool {
	return strings.Contains(path, ".git/c2c/mcp")
}

func absolute(cwd, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(cwd, path)
}

// fingerprint names the repository around cwd.
func fingerprint(cwd string) string {
	name := repositoryName(cwd)
	if name == "" {
		return "default"
	}
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:])[:12]
}
