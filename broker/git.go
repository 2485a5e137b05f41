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

// parseGitConfig gives remote.origin.url, the last one as git does. ok is false when the file pulls
// in others, has per-worktree values, or moves the top level: then only git knows the answer.
func parseGitConfig(text string) (url string, ok bool) {
	section := ""
	moved := false // the top level is not where .git is
	text = strings.ReplaceAll(text, "\r\n", "\n")
	text = strings.ReplaceAll(text, "\\\n", "")
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			end := strings.LastIndexByte(line, ']')
			if end < 0 {
				return "", false
			}
			section, line = sectionName(line[1:end]), strings.TrimSpace(line[end+1:])
			if section == "include" || strings.HasPrefix(section, "includeif ") {
				return "", false
			}
		}
		key, value, found := strings.Cut(line, "=")
		if !found {
			continue
		}
		switch key = strings.ToLower(strings.TrimSpace(key)); {
		case section == "extensions" && key == "worktreeconfig":
			return "", false
		case section == "core" && key == "worktree":
			moved = true
		case section == `remote "origin"` && key == "url":
			url = unquoteGit(value)
		}
	}
	return url, url != "" || !moved
}

// sectionName folds the case of a section but not of its quoted subsection.
func sectionName(s string) string {
	name, sub, found := strings.Cut(strings.TrimSpace(s), " ")
	if !found {
		return strings.ToLower(name)
	}
	return strings.ToLower(name) + " " + strings.TrimSpace(sub)
}

// unquoteGit takes comments, quotes and escapes out of a value.
func unquoteGit(s string) string {
	var out strings.Builder
	quoted := false
	keep := 0 // length up to the last character that is not trailing space
	s = strings.TrimLeft(s, " \t")
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '"':
			quoted = !quoted
			keep = out.Len()
			continue
		case !quoted && (c == '#' || c == ';'):
			return out.String()[:keep]
		case c == '\\' && i+1 < len(s):
			i++
			c = unescapeGit(s[i])
			out.WriteByte(c)
			keep = out.Len()
			continue
		}
		out.WriteByte(c)
		if quoted || (c != ' ' && c != '\t') {
			keep = out.Len()
		}
	}
	return out.String()[:keep]
}

func unescapeGit(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 't':
		return '\t'
	case 'b':
		return '\b'
	}
	return c
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
