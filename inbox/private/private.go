// Package private keeps a list in a file that only its user may read, such as the tokens of senders. A damaged file is not set aside:
// until a person has repaired it, it gives nobody any right. A lock file lets only one process at a time change the file.
package private

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"

	"c2c/inbox/atomicfile"
	"c2c/inbox/filelock"
)

// File is such a file with content of type T. Without the file, the content is the zero T. Any goroutine may use it.
type File[T any] struct {
	Dir     *atomicfile.Dir
	Name    string
	Lock    string                  // the name of the lock file
	Most    int64                   // the largest size, in bytes
	Parse   func([]byte) (T, error) // also checks the content
	Format  func(T) ([]byte, error)
	Damaged func(error) error // makes the error of this package's user for a damaged file
	Full    error             // the error if the file would be too large

	mu   sync.Mutex
	seen fs.FileInfo // the version that last holds; nil: none
	last T
}

// Look returns the content. It reads the file only if it has changed. Callers must not change the content.
func (f *File[T]) Look() (T, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var none T
	info, err := f.Dir.Stat(f.Name)
	if err == nil && f.seen != nil && os.SameFile(info, f.seen) && info.ModTime().Equal(f.seen.ModTime()) &&
		info.Size() == f.seen.Size() && info.Mode() == f.seen.Mode() {
		return f.last, nil
	}
	f.seen, f.last = nil, none
	if errors.Is(err, fs.ErrNotExist) {
		return none, nil
	}
	if err != nil {
		return none, err
	}
	if f.last, err = f.Read(); err == nil {
		f.seen = info
	}
	return f.last, err
}

// Read reads the file.
func (f *File[T]) Read() (content T, err error) {
	data, err := Read(f.Dir, f.Name, f.Most, f.Damaged)
	if errors.Is(err, fs.ErrNotExist) {
		return content, nil
	}
	if err != nil {
		return content, err
	}
	content, err = f.Parse(data)
	if err != nil {
		var none T
		return none, f.Damaged(err)
	}
	return content, nil
}

// Change edits the content under the file's lock. When it returns, the new content is on disk.
func (f *File[T]) Change(ctx context.Context, edit func(*T) error) error {
	return filelock.With(ctx, f.Dir, f.Lock, func() error {
		content, err := f.Read()
		if err != nil {
			return err
		}
		before, err := f.Format(content)
		if err != nil {
			return err
		}
		if err := edit(&content); err != nil {
			return err
		}
		after, err := f.Format(content)
		switch {
		case err != nil:
			return err
		case bytes.Equal(before, after):
			return f.Dir.RemoveLeftover(f.Name)
		case int64(len(after)) > f.Most:
			return f.Full
		}
		return f.Dir.Replace(f.Name, after)
	})
}

// Read reads a file of at most so many bytes. If another user may read the file, or if it is larger, it returns an error that damaged
// makes. If there is no file, the error matches
// fs.ErrNotExist.
func Read(dir *atomicfile.Dir, name string, most int64, damaged func(error) error) ([]byte, error) {
	f, err := dir.Open(name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case info.Mode().Perm()&0o077 != 0:
		return nil, damaged(fmt.Errorf("other users may read it (mode %04o)", info.Mode().Perm()))
	case info.Size() > most:
		return nil, damaged(fmt.Errorf("it has %d bytes; at most %d are allowed", info.Size(), most))
	}
	return io.ReadAll(io.LimitReader(f, most))
}
