// This part reads the configuration files of other programs, and describes edits of them. Before an
// edit is written, it checks that the file is still as it was read. The package writes no file; it
// removes empty directories.

package install

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
)

// maxConfig is the largest file that c2c reads, in bytes: the parsers keep several copies in
// memory.
const maxConfig = 64 << 20

// A File is the present state of the file at a path.
type File struct {
	Path   string
	Target string // the path of the content: Path itself, or the target of the link at path
	Data   []byte // nil if there is no file
	Mode   fs.FileMode
}

// Change returns the Change that gives f the content `after` and the mode `mode`.
func (f *File) Change(after []byte, mode fs.FileMode) Change {
	return Change{Path: f.Path, Target: f.Target, Before: f.Data, BeforeMode: f.Mode, After: after, Mode: mode}
}

// Read reads the regular file at path. If there is no file, it returns no error, and data is nil.
func ReadFile(path string) (*File, error) {
	target, err := FollowLink(path)
	if err != nil {
		return nil, err
	}
	f := &File{Path: path, Target: target}
	info, err := os.Stat(target)
	switch {
	case Absent(err):
		return f, nil
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular(): // reading a FIFO would block forever
		return nil, fmt.Errorf("read %s: not a regular file; move it away, then run again", path)
	case info.Size() > maxConfig:
		return nil, fmt.Errorf("read %s: %d bytes are too many for a configuration file; move it away, then run again", path, info.Size())
	}
	if f.Data, err = os.ReadFile(target); err != nil {
		return nil, err
	}
	if f.Data == nil {
		f.Data = []byte{}
	}
	f.Mode = info.Mode().Perm()
	return f, nil
}

// Absent reports whether err means that a file is missing, or that one of its parents is not a
// directory.
func Absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// CheckWritable returns an error for a file that its owner made read-only. Managers of dotfiles
// make the files that they generate read-only. c2c could replace such a file, but the manager would
// undo the edit.
func (f *File) CheckWritable() error {
	if f.Data != nil && f.Mode&0o200 == 0 {
		return fmt.Errorf("edit %s: the file is read-only; edit the file from which it is generated, or make it writable and run again", f.Path)
	}
	return nil
}

// Content returns the content of a settings file, nil if the file is missing or cannot be read. The
// editor of the file reports the error.
func Content(path string) []byte {
	f, err := ReadFile(path)
	if err != nil {
		return nil
	}
	return f.Data
}

// Blank reports whether data holds only white space, or an empty object without a comment.
func Blank(data []byte) bool {
	text := string(bytes.TrimSpace(data))
	return text == "" || text[0] == '{' && strings.TrimSpace(text[1:]) == "}"
}

// Hash returns the SHA-256 of b in hexadecimal.
func Hash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
