package install

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"c2c/internal/atomicfile"
)

// ErrChanged: a file has changed since it was read.
var ErrChanged = errors.New("changed meanwhile, run again")

// A Change is an edit of a file: its content before and after. If Before is nil, there is no file
// yet. If After is nil, the edit removes the file.
type Change struct {
	Path             string // as the client names it; may be a symbolic link
	Before, After    []byte
	BeforeMode, Mode fs.FileMode
	Target           string // the path of the content: Path, or the target of the link there
	Own              bool   // c2c wrote every byte of the file, before and after: nothing in it is a person's
}

// MissingDirs returns the directories to make. For the user root it returns an error if the owner
// of the parent could not use such a directory: directories that root makes in a user's home would
// lock the client out of its own configuration.
func (c Change) MissingDirs() ([]string, error) {
	missing, err := MissingDirs(filepath.Dir(c.Target))
	switch {
	case err != nil:
		return nil, err
	case len(missing) > 0:
		err = atomicfile.ShutsOut(filepath.Dir(missing[0]))
	case c.Before == nil && c.Mode&0o004 == 0:
		err = atomicfile.ShutsOut(filepath.Dir(c.Target))
	}
	if err != nil {
		return nil, fmt.Errorf("make %s: %w", c.Path, err)
	}
	return missing, nil
}

// Unchanged returns an error if the file is no longer as it was read. Callers may test for
// ErrChanged.
func (c Change) Unchanged() error {
	f, err := ReadFile(c.Path)
	if err != nil {
		return err
	}
	same := f.Target == c.Target && (f.Data == nil) == (c.Before == nil) && bytes.Equal(f.Data, c.Before)
	if !same || f.Data != nil && f.Mode != c.BeforeMode {
		return fmt.Errorf("edit %s: %w", c.Path, ErrChanged)
	}
	return nil
}
