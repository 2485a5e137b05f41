package project

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"c2c/internal/atomicfile"
)

// Roots returns the root of the project around cwd, and other roots with mail of the same project.
// Older programs made these other roots: one for each spelling of the remote's URL, for each work
// tree, and for each state directory.
func Roots(getenv func(string) string, cwd string) (root string, others []string, err error) {
	p, err := Find(getenv, cwd)
	if err != nil || p.state == "" || p.project.own == "default" {
		return p.Path, nil, err
	}
	if root = p.Path; p.folder.own {
		return root, nil, nil // the root of the other clones is that of another project
	}
	if recorded, _ := linked(p.state, ProjectsDir, p.project.name); recorded != "" {
		root = filepath.Join(p.state, ReposDir, follow(p.state, recorded), "broker")
	}
	known := []os.FileInfo{}
	isNew := func(dir string) bool {
		info, err := os.Stat(dir)
		if err != nil || !info.IsDir() || slices.ContainsFunc(known, func(k os.FileInfo) bool { return os.SameFile(k, info) }) {
			return false
		}
		known = append(known, info)
		return true
	}
	isNew(filepath.Dir(root))
	for _, f := range p.formerFolders() {
		if dir := filepath.Join(p.state, ReposDir, f.root); isNew(dir) {
			others = append(others, filepath.Join(dir, "broker"))
		}
	}
	for _, state := range States(getenv) {
		for _, fp := range p.project.fingerprints(state) {
			if dir := filepath.Join(state, ReposDir, fp); isNew(dir) { // even if it has no broker directory: then a merge was killed near its end
				others = append(others, filepath.Join(dir, "broker"))
			}
		}
	}
	return root, others, nil
}

// States returns the state directories of this user. There may be two, because one client may have
// been started with XDG_STATE_HOME, and another without.
func States(getenv func(string) string) (dirs []string) {
	for _, name := range []string{"XDG_STATE_HOME", "HOME"} {
		only := func(n string) string {
			if n == name {
				return getenv(n)
			}
			return ""
		}
		if dir, _ := StateDir(only); filepath.IsAbs(dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// fingerprints returns all names that a root of the project may have in a state directory.
func (p project) fingerprints(state string) []string {
	all := []string{p.own}
	if recorded, _ := linked(state, ProjectsDir, p.name); recorded != "" {
		all = append(all, recorded)
	}
	if dir, err := atomicfile.Open(filepath.Join(state, ProjectsDir)); err == nil {
		names, _ := dir.Names()
		for _, name := range names {
			if fp, ok := strings.CutPrefix(name, p.name+"."); ok && isFingerprint(fp) {
				all = append(all, fp)
			}
		}
		dir.Close()
	}
	for _, url := range spellings(p.remote) {
		all = append(all, fingerprint(url))
	}
	for _, top := range p.workTrees() {
		all = append(all, fingerprint(top))
	}
	return all
}

// workTrees returns the top levels of all work trees. If there is no remote, an older program makes
// the fingerprint of a root from one of them.
func (p project) workTrees() (tops []string) {
	if filepath.Base(p.dir) == ".git" {
		tops = append(tops, filepath.Dir(p.dir))
	}
	linked, _ := os.ReadDir(filepath.Join(p.dir, "worktrees"))
	for _, entry := range linked {
		if data, err := atomicfile.ReadForeign(filepath.Join(p.dir, "worktrees", entry.Name(), "gitdir"), maxGitFile); err == nil {
			tops = append(tops, filepath.Dir(strings.TrimSpace(string(data))))
		}
	}
	return tops
}
