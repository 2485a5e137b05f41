package project

import (
	"os"
	"path/filepath"
	"strings"

	"c2c/internal/atomicfile"
	"c2c/internal/proc"
)

// maxGitFile is the most bytes of a git file that we read. A config has far fewer, and a file of
// this size can still be parsed at every command.
const maxGitFile = 16 << 20

// repository has git's data about the current directory. Outside of a repository all fields are
// empty.
type repository struct {
	url string // URL of the remote "origin"
	top string // top level of the work tree
	dir string // git's own directory, which all work trees of a repository share
}

// findRepository finds the repository around cwd. It reads git's files itself, because starting git
// twice would take a hook longer than all its other work.
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

// gitDirAt returns the directory with git's config, or "" if there is none. The argument path is
// that of a .git directory, or of the .git file of a linked work tree or a submodule. A linked work
// tree shares the config of its main work tree.
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

// parseGitConfig returns remote.origin.url. Like git, it takes the last value. The result ok is
// false for rare content, which only git itself reads correctly: includes, values for one work
// tree, a top level elsewhere without a URL, and a URL with quotes, escapes or a comment.
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

// askGit runs git to find the URL, or without a URL the top level.
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
	program, err := proc.LookPath("git", os.Getenv)
	if err != nil {
		return "", err
	}
	return proc.Run(program, dir, nil, args...)
}
