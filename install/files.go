package install

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// maxConfig is the largest file that c2c reads, in bytes: the parsers keep several copies in memory.
const maxConfig = 64 << 20

// A file is the current state of a path.
type file struct {
	path   string
	target string // where the bytes are: path, with a link at its end followed
	data   []byte // nil if there is no file
	mode   fs.FileMode
}

// change returns the Change that makes f contain after, with mode.
func (f *file) change(after []byte, mode fs.FileMode) Change {
	return Change{Path: f.path, target: f.target, Before: f.data, BeforeMode: f.mode, After: after, Mode: mode}
}

// readFile reads the regular file at path. A missing one is no error.
func readFile(path string) (*file, error) {
	target, err := followLink(path)
	if err != nil {
		return nil, err
	}
	f := &file{path: path, target: target}
	info, err := os.Stat(target)
	switch {
	case absent(err):
		return f, nil
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular(): // reading a FIFO would block forever
		return nil, fmt.Errorf("read %s: not a regular file; move it away, then run again", path)
	case info.Size() > maxConfig:
		return nil, fmt.Errorf("read %s: %d bytes are too many for a configuration file", path, info.Size())
	}
	if f.data, err = os.ReadFile(target); err != nil {
		return nil, err
	}
	if f.data == nil {
		f.data = []byte{}
	}
	f.mode = info.Mode().Perm()
	return f, nil
}

// dataAt returns the content of a settings file; nil if it is missing or unreadable, which the finding of its editor reports.
func dataAt(path string) []byte {
	f, err := readFile(path)
	if err != nil {
		return nil
	}
	return f.data
}

// absent reports whether the file is missing, also when a file stands where a parent directory should be.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// writable returns an error for a file that its owner made read-only, as
// dotfile managers do with files that they generate. A rename over it would
// work, but the manager would undo it.
func (f *file) writable() error {
	if f.data != nil && f.mode&0o200 == 0 {
		return fmt.Errorf("edit %s: read-only; edit its source, or make it writable and run again", f.path)
	}
	return nil
}

// followLink returns the target of the link at path, or path itself. The target
// may be missing, which filepath.EvalSymlinks would report as an error.
func followLink(path string) (string, error) {
	for target, hops := path, 0; ; hops++ {
		link, err := os.Readlink(target)
		switch {
		case absent(err), errors.Is(err, syscall.EINVAL): // nothing, or no link
			return target, nil
		case err != nil:
			return "", err
		case hops == 40:
			return "", fmt.Errorf("read %s: too many symbolic links", path)
		}
		if !filepath.IsAbs(link) {
			link = filepath.Join(filepath.Dir(target), link)
		}
		target = link
	}
}

// blank reports whether data has no content: only white space, or an empty object without a comment.
func blank(data []byte) bool {
	text := string(bytes.TrimSpace(data))
	return text == "" || text[0] == '{' && strings.TrimSpace(text[1:]) == "}"
}

// missingDirs returns dir and its parents as far as they do not exist, outermost first.
func missingDirs(dir string) ([]string, error) {
	_, err := os.Lstat(dir)
	if !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) {
		return nil, err
	}
	above, err := missingDirs(filepath.Dir(dir))
	return append(above, dir), err
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// A Change is one file before and after. A nil Before means that there is no
// file yet, a nil After that Apply removes it.
type Change struct {
	Path             string // as the client names it; may be a symbolic link
	Before, After    []byte
	BeforeMode, Mode fs.FileMode
	target           string // where the bytes are, links followed
}

func hash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// removeDirs removes the empty ones of dirs, innermost first, and returns those
// that still exist. A directory with files in it stays.
func removeDirs(dirs []string) (left []string, err error) {
	for _, dir := range slices.Backward(mergeDirs(dirs, nil)) {
		switch rerr := os.Remove(dir); {
		case errors.Is(rerr, syscall.ENOTEMPTY), errors.Is(rerr, fs.ErrExist):
			left = append(left, dir)
		case rerr != nil && !absent(rerr):
			left, err = append(left, dir), errors.Join(err, rerr)
		}
	}
	slices.Reverse(left)
	return left, err
}

// mergeDirs returns the union of a and b, sorted, so parents come first.
func mergeDirs(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}
