package project

import (
	"os"
	"path/filepath"
	"strings"

	"c2c/inbox/atomicfile"
	"c2c/process/child"
)

// maxGitFile is far more than a config has, and still fast to parse at every command.
const maxGitFile = 16 << 20

// repository has git's data about the current directory. Outside of a repository all fields are empty.
type repository struct {
	url string // URL of the remote "origin"
	top string // top level of the work tree
	dir string // git's own directory, which all work trees of a repository share
}

// findRepository reads git's files itself: to start git twice would cost a hook more than all its other work.
func findRepository(cwd string) repository {
	for top := cwd; ; top = filepath.Dir(top) {
		if dir := gitDirAt(filepath.Join(top, ".git")); dir != "" {
			data, err := atomicfile.ReadForeign(filepath.Join(dir, "config"), maxGitFile)
			url, ok := parseGitConfig(string(data))
			if err == nil && !ok {
				return askGit(cwd, dir)
			}
			return repository{url, top, dir}
		}
		if _, err := os.Stat(filepath.Join(top, "HEAD")); err == nil {
			if config, err := os.Stat(filepath.Join(top, "config")); err == nil && config.Mode().IsRegular() {
				return askGit(cwd, top) // a bare repository, perhaps, or the inside of .git
			}
		}
		if top == filepath.Dir(top) {
			return repository{}
		}
	}
}

// gitDirAt returns the directory with git's config, for a .git directory or for the .git file of a linked work tree or a submodule;
// "" if path is neither. A linked work tree shares the config of its main work tree.
func gitDirAt(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	if info.Mode().IsRegular() {
		data, err := atomicfile.ReadForeign(path, maxGitFile)
		target, ok := strings.CutPrefix(strings.TrimSpace(string(data)), "gitdir:")
		if err != nil || !ok {
			return ""
		}
		path = absolute(filepath.Dir(path), strings.TrimSpace(target))
	}
	if _, err := os.Stat(filepath.Join(path, "HEAD")); err != nil {
		return "" // an empty .git directory is no repository for git either
	}
	if data, err := atomicfile.ReadForeign(filepath.Join(path, "commondir"), maxGitFile); err == nil {
		return absolute(path, strings.TrimSpace(string(data)))
	}
	return path
}

// parseGitConfig returns remote.origin.url; like git it takes the last value. ok is false for rare content that only git itself
// reads right: includes, values for one work tree, a top level elsewhere, and a value with quotes, escapes or a comment.
func parseGitConfig(text string) (url string, ok bool) {
	section := ""
	moved := false // the top level is not beside .git
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			section = strings.Join(strings.Fields(line), " ")
			lower := strings.ToLower(section)
			if strings.HasPrefix(lower, "[include") || strings.HasPrefix(lower, "[remote.") || !strings.HasSuffix(line, "]") {
				return "", false
			}
			continue
		}
		if strings.HasSuffix(line, `\`) {
			return "", false // the value continues on the next line
		}
		key, value, _ := strings.Cut(line, "=")
		switch strings.ToLower(strings.TrimSpace(key)) {
		case "worktreeconfig":
			return "", false
		case "worktree":
			moved = true
		case "url":
			if strings.EqualFold(section, `[remote "origin"]`) && strings.Contains(section, `"origin"`) {
				url = strings.TrimSpace(value)
			}
		}
	}
	return url, (url != "" || !moved) && !strings.ContainsAny(url, "\"\\#;")
}

// askGit runs git, as the OCaml c2c always does.
func askGit(cwd, dir string) repository {
	r := repository{dir: dir}
	for _, ask := range []struct {
		answer *string
		args   []string
	}{{&r.url, []string{"config", "--get", "remote.origin.url"}}, {&r.top, []string{"rev-parse", "--show-toplevel"}}} {
		out, err := runGit(cwd, ask.args...)
		line, _, _ := strings.Cut(out, "\n")
		if line = strings.TrimSpace(line); err == nil && line != "" {
			*ask.answer = line
			break
		}
	}
	return r
}

func runGit(dir string, args ...string) (string, error) {
	program, err := child.LookPath("git", os.Getenv)
	if err != nil {
		return "", err
	}
	return child.Run(program, dir, nil, args...)
}
