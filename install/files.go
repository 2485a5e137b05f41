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

// maxConfig bounds what is read: the parsers keep several copies in memory.
const maxConfig = 64 << 20

// A file is what is at a path now.
type file struct {
	path   string
	target string // where the bytes are: path with a link at its end followed
	data   []byte // nil when there is no file
	mode   fs.FileMode
}

// change is the step from f to what it is to be.
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
	case !info.Mode().IsRegular(): // reading a FIFO would block for good
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

// dataAt is what a file of settings has; nil when it is missing, or cannot be read, which the report on its editor says.
func dataAt(path string) []byte {
	f, err := readFile(path)
	if err != nil {
		return nil
	}
	return f.data
}

// absent also holds where a parent of the file is gone and a file has its name.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// writable returns an error for a file that its owner made read-only, as
// dotfile managers do with what they generate. Renaming over it would work,
// and be undone or fought over.
func (f *file) writable() error {
	if f.data != nil && f.mode&0o200 == 0 {
		return fmt.Errorf("edit %s: read-only; edit its source, or make it writable and run again", f.path)
	}
	return nil
}

// followLink returns where the link at path leads, or path itself. The end of
// the chain need not exist, which is an error to filepath.EvalSymlinks.
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

// blank reports whether data says nothing: it is white, or an empty object without a comment.
func blank(data []byte) bool {
	text := string(bytes.TrimSpace(data))
	return text == "" || text[0] == '{' && strings.TrimSpace(text[1:]) == "}"
}

// missingDirs returns dir and its parents that do not exist, outermost first.
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
// file yet, a nil After that it goes away.
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

// removeDirs removes what is empty of dirs, innermost first, and returns those
// that still exist. A directory that somebody uses stays.
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

// mergeDirs returns the union of both, sorted, so parents come first.
func mergeDirs(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}
