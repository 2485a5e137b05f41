package install

import (
	"bytes"
	"cmp"
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

// A file is the present state of the file at a path.
type file struct {
	path   string
	target string // the path of the content: path itself, or the target of the link at path
	data   []byte // nil if there is no file
	mode   fs.FileMode
}

// change returns the Change that gives f the content `after` and the mode `mode`.
func (f *file) change(after []byte, mode fs.FileMode) Change {
	return Change{Path: f.path, target: f.target, Before: f.data, BeforeMode: f.mode, After: after, Mode: mode}
}

// readFile reads the regular file at path. If there is no file, it returns no error, and data is nil.
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
		return nil, fmt.Errorf("read %s: %d bytes are too many for a configuration file; move it away, then run again", path, info.Size())
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

// dataAt returns the content of a settings file, nil if the file is missing or cannot be read. The editor of the file reports the error.
func dataAt(path string) []byte {
	f, err := readFile(path)
	if err != nil {
		return nil
	}
	return f.data
}

// absent reports whether err means that a file is missing, or that one of its parents is not a directory.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// checkWritable returns an error for a file that its owner made read-only. Managers of dotfiles make the files that they generate
// read-only. c2c could replace such a file, but the manager would undo the edit.
func (f *file) checkWritable() error {
	if f.data != nil && f.mode&0o200 == 0 {
		return fmt.Errorf("edit %s: the file is read-only; edit the file from which it is generated, or make it writable and run again", f.path)
	}
	return nil
}

// followLink returns the target of the link at path, or path itself. Unlike filepath.EvalSymlinks, it returns no error if the target does
// not exist.
func followLink(path string) (string, error) {
	for target, hops := path, 0; ; hops++ {
		link, err := os.Readlink(target)
		switch {
		case absent(err), errors.Is(err, syscall.EINVAL): // nothing is there, or something that is not a link
			return target, nil
		case err != nil:
			return "", err
		case hops == 40:
			return "", fmt.Errorf("read %s: too many symbolic links", path)
		}
		if !filepath.IsAbs(link) {
			link = filepath.Dir(target) + "/" + link // without Join: what ".." means depends on links
		}
		dir, name := filepath.Split(link)
		target = filepath.Join(realPath(dir), name)
	}
}

// realPath is filepath.EvalSymlinks for a path whose last elements may be missing.
func realPath(path string) string {
	real, err := filepath.EvalSymlinks(path)
	if err == nil || path == filepath.Dir(path) {
		return cmp.Or(real, path)
	}
	return filepath.Join(realPath(filepath.Dir(path)), filepath.Base(path))
}

// blank reports whether data holds only white space, or an empty object without a comment.
func blank(data []byte) bool {
	text := string(bytes.TrimSpace(data))
	return text == "" || text[0] == '{' && strings.TrimSpace(text[1:]) == "}"
}

// missingDirs returns dir and its parents, without those that exist; the outermost comes first.
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

// A Change is an edit of a file: its content before and after. If Before is nil, there is no file yet. If After is nil, Apply removes the
// file.
type Change struct {
	Path             string // as the client names it; may be a symbolic link
	Before, After    []byte
	BeforeMode, Mode fs.FileMode
	target           string // the path of the content: Path, or the target of the link there
}

func hash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// removeDirs removes the empty ones among dirs, innermost first. It returns the directories that still exist.
func removeDirs(dirs []string) (left []string, err error) {
	for _, dir := range slices.Backward(mergeDirs(dirs, nil)) {
		switch rerr := syscall.Rmdir(dir); { // os.Remove would also remove a link
		case errors.Is(rerr, syscall.ENOTEMPTY), errors.Is(rerr, fs.ErrExist):
			left = append(left, dir)
		case rerr != nil && !absent(rerr):
			left, err = append(left, dir), errors.Join(err, &fs.PathError{Op: "remove", Path: dir, Err: rerr})
		}
	}
	slices.Reverse(left)
	return left, err
}

// mergeDirs returns the union of a and b, sorted, so that a directory comes before the directories in it.
func mergeDirs(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}
