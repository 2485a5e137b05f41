package claims

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
)

// Resolve makes a path absolute, and follows the symbolic links in the part that exists. If a name
// in the path has one of * ? [, the path is a pattern from this name on, and Resolve does not
// change this part.
func Resolve(dir, name string) (string, error) {
	if name == "" {
		return "", errors.New("the path is empty")
	}
	if !filepath.IsAbs(name) {
		if !filepath.IsAbs(dir) {
			return "", fmt.Errorf("path %q: want an absolute path", name)
		}
		name = filepath.Join(dir, name)
	}
	there, rest := filepath.Clean(name), ""
	for there != "/" {
		if !isPattern(there) {
			real, err := filepath.EvalSymlinks(there)
			if err == nil {
				return filepath.Join(real, rest), nil
			}
			if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
				return "", fmt.Errorf("find %q: %w", name, err)
			}
		}
		there, rest = filepath.Dir(there), filepath.Join(filepath.Base(there), rest)
	}
	return filepath.Join("/", rest), nil
}

// hasBraces reports whether a name with a brace is in a path, and no such file exists: braces match
// nothing.
func hasBraces(path string) bool {
	for ; strings.Contains(path, "{"); path = filepath.Dir(path) {
		if _, err := os.Lstat(path); err == nil {
			return false
		}
		if strings.Contains(filepath.Base(path), "{") {
			return true
		}
	}
	return false
}

func isPattern(name string) bool { return strings.ContainsAny(name, "*?[") }

// covers reports whether the claim is for a file: for the path of the file, for a folder above it,
// or for a pattern that matches either of these. A file that was renamed is another file: git gives
// files new inodes, and old inodes to other files. On a file system that ignores case, only a claim
// of the file itself is found under a name in another case.
func (c Claim) covers(name string) bool {
	if c.Path == "" {
		return false
	}
	if isPattern(c.Path) && matches(strings.Split(c.Path, "/"), strings.Split(name, "/")) {
		return true
	}
	return c.Path == name || strings.HasPrefix(name, strings.TrimSuffix(c.Path, "/")+"/") || isSame(c.Path, name)
}

// isSame reports whether two paths lead to the same file now. This can be so on a file system that
// ignores case.
func isSame(one, other string) bool {
	if !strings.EqualFold(one, other) {
		return false
	}
	a, err := os.Stat(one)
	b, berr := os.Stat(other)
	return err == nil && berr == nil && os.SameFile(a, b)
}

// matches reports whether a pattern matches a path, or a folder above it. ** stands for any number
// of names. If a name does not match, only the last ** takes one name more. It would be slow to try
// this with each **, and each edit would wait.
func matches(pattern, names []string) bool {
	last, from := -1, 0 // the last **, and the first name after the names that it stands for
	for i, n := 0, 0; i < len(pattern); {
		switch {
		case pattern[i] == "**":
			last, from = i, n
			i++
		case n < len(names) && matchesName(pattern[i], names[n]):
			i, n = i+1, n+1
		case last >= 0 && from < len(names):
			from++
			i, n = last+1, from
		default:
			return false
		}
	}
	return true
}

// matchesName reports whether one part of a pattern matches a name. A part that is no valid pattern
// stands for itself.
func matchesName(part, name string) bool {
	ok, err := path.Match(part, name)
	return ok || err != nil && part == name
}

// same reports whether two claims are for the same path or task.
func same(a, b Claim) bool {
	return a.Path != "" && a.Path == b.Path || a.Task != "" && strings.EqualFold(a.Task, b.Task)
}

// overlap reports whether two claims may be for the same file, or are for the same task.
func overlap(a, b Claim) bool {
	return same(a, b) || a.Path != "" && b.Path != "" && (a.covers(b.Path) || b.covers(a.Path))
}

// Worktree returns the top folder of the work tree that contains a folder. It returns "" if no work
// tree contains it.
func Worktree(dir string) string {
	dir, err := Resolve("/", dir)
	if err != nil {
		return ""
	}
	for ; dir != "/"; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
	}
	return ""
}

// maxSetting bounds the file that Refuses reads.
const maxSetting = 4096

// refuses reports whether c2c must refuse edits of files that another session has claimed. A person
// sets this with the word refuse in the file .c2c/claims of the work tree.
func refuses(worktree string) bool {
	if worktree == "" {
		return false
	}
	f, err := os.OpenFile(filepath.Join(worktree, ".c2c", "claims"), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	data := make([]byte, maxSetting)
	n, _ := f.Read(data)
	return strings.TrimSpace(string(data[:n])) == "refuse"
}
