package broker

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// repositoryName gives the URL of the remote "origin", else the top level of the work tree, else "".
// It reads git's files itself: starting git twice costs more than the whole of a hook's other work.
func repositoryName(cwd string) string {
	top, common := findGitDir(cwd)
	if common == "" {
		return ""
	}
	data, err := os.ReadFile(filepath.Join(common, "config"))
	if err != nil {
		return top
	}
	config, ok := parseGitConfig(string(data))
	if !ok {
		return askGit(cwd)
	}
	if config != "" {
		return config
	}
	return top
}

// findGitDir walks up from cwd to the work tree. common is the directory with the config, which a
// linked work tree shares with its main one.
func findGitDir(cwd string) (top, common string) {
	for dir := cwd; ; {
		if common := gitDirAt(filepath.Join(dir, ".git")); common != "" {
			return dir, common
		}
		if isGitDir(dir) {
			return "", dir // bare, or inside of .git: there is no work tree
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", ""
		}
		dir = parent
	}
}

// isGitDir knows a git directory by what git knows it by.
func isGitDir(dir string) bool {
	for _, name := range []string{"HEAD", "objects", "refs"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}

// gitDirAt follows a .git directory, or the .git file of a linked work tree or submodule.
func gitDirAt(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	if info.Mode().IsRegular() {
		data, err := os.ReadFile(path)
		target, ok := strings.CutPrefix(strings.TrimSpace(string(data)), "gitdir:")
		if err != nil || !ok {
			return ""
		}
		path = absolute(filepath.Dir(path), strings.TrimSpace(target))
	}
	if _, err := os.Stat(filepath.Join(path, "HEAD")); err != nil {
		return "" // an empty .git directory is no repository for git either
	}
	if data, err := os.ReadFile(filepath.Join(path, "commondir")); err == nil {
		return absolute(path, strings.TrimSpace(string(data)))
	}
	return path
}

// parseGitConfig gives remote.origin.url, the last one as git does. ok is false for what few files have: includes,
// values for one work tree, a top level elsewhere, and a value with quotes, escapes or a comment. Git reads those.
func parseGitConfig(text string) (url string, ok bool) {
	section := ""
	moved := false // the top level is not where .git is
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
			return "", false // it goes on in the next line
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

// askGit does what the original does every time.
func askGit(cwd string) string {
	for _, args := range [][]string{{"config", "--get", "remote.origin.url"}, {"rev-parse", "--show-toplevel"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = cwd
		out, err := cmd.Output()
		line, _, _ := strings.Cut(string(out), "\n")
		if line = strings.TrimSpace(line); err == nil && line != "" {
			return line
		}
	}
	return ""
}
