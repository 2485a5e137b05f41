// This part keeps a list in a file that only its user may read, such as the tokens of senders. If
// the file is damaged, every call returns an error until a person has repaired the file; so a
// damaged list gives nobody a right. A lock file lets only one process at a time change the file.

package atomicfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

// PrivateFile is such a file, with content of type T. If the file does not exist, the content is
// the zero T. Several goroutines may use one PrivateFile.
type PrivateFile[T any] struct {
	Dir    *Dir
	Name   string
	Lock   string                  // the name of the lock file
	Most   int64                   // the largest size, in bytes
	Parse  func([]byte) (T, error) // also checks the content
	Format func(T) ([]byte, error)
	Full   error // the error of Change if the file would become too large

	mu     sync.Mutex
	seen   *Info // the file's data at the time when cached was read; nil: cached is empty
	cached T     // the content that Look has read last
}

// DamagedError says that such a file is not usable until a person has repaired it.
type DamagedError struct {
	Path string
	Err  error
}

func (e *DamagedError) Error() string { return fmt.Sprintf("%s is damaged: %v", e.Path, e.Err) }
func (e *DamagedError) Unwrap() error { return e.Err }

// Damaged makes a DamagedError of a file in a directory.
func (d *Dir) Damaged(name string, err error) error {
	return &DamagedError{filepath.Join(d.Path(), name), err}
}

// Look returns the content. It reads the file only if the file has changed since the last call.
// While the system opens no more files, the content stays as it was. Callers must not change the
// content.
func (f *PrivateFile[T]) Look() (T, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var none T
	info, err := f.Dir.Stat(f.Name)
	if err == nil && f.seen != nil && *f.seen == info {
		return f.cached, nil
	}
	if f.seen != nil && (errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)) {
		return f.cached, nil
	}
	f.seen, f.cached = nil, none
	if err != nil {
		return none, UnlessAbsent(err)
	}
	if f.cached, err = f.Read(); err == nil {
		f.seen = &info
	}
	return f.cached, err
}

// Read returns the content. Unlike Look, it always reads the file.
func (f *PrivateFile[T]) Read() (content T, err error) {
	data, err := ReadPrivate(f.Dir, f.Name, f.Most)
	if err != nil {
		return content, UnlessAbsent(err)
	}
	content, err = f.Parse(data)
	if err != nil {
		var none T
		return none, f.Dir.Damaged(f.Name, err)
	}
	return content, nil
}

// Change reads the content, lets the function edit change it, and writes it, all under the file's
// lock. When Change returns nil, the new content is on disk.
func (f *PrivateFile[T]) Change(ctx context.Context, edit func(*T) error) error {
	return WithLock(ctx, f.Dir, f.Lock, func() error {
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

// ReadPrivate reads a file of at most limit bytes. If another user may read the file, or if the file
// is larger, the error is a *DamagedError. If there is no file, the error matches fs.ErrNotExist.
func ReadPrivate(dir *Dir, name string, limit int64) ([]byte, error) {
	f, err := dir.OpenHandle(name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	switch mode := f.Mode().Perm(); {
	case mode&0o077 != 0:
		return nil, dir.Damaged(name, fmt.Errorf("other users may read it (mode %04o)", mode))
	case f.Size() > limit:
		return nil, dir.Damaged(name, fmt.Errorf("it has %d bytes; at most %d are allowed", f.Size(), limit))
	}
	return ReadAll(f, nil)
}
