// Package atomicfile replaces files as a whole: a reader sees the old content or the new content,
// never a part, even after a power cut.
//
// A Dir is an open directory of ours. Its methods take the name of a file in it: a single path
// component. The methods never follow a symbolic link, so another process that can write there
// cannot lead us elsewhere. Any number of goroutines and processes may use the same directory.
// Whoever reads a file, changes it and writes it back needs a lock (Lock).
package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// ErrNotOurs says that a file or directory belongs to another user, that others may write to it, or
// that it has the wrong type. Errors wrap it.
var ErrNotOurs = errors.New("not a private file or directory of ours")

// ErrTooLarge says that a file is larger than any file of ours can become. Errors wrap it. We do
// not read such a file, because a hostile file may be one large hole: it takes no room on the disk,
// but would take all our memory.
var ErrTooLarge = errors.New("too large to be a file of ours")

// MaxFile is the largest size of a file that we read, in bytes. It is several times the size of the
// fullest mailbox.
const MaxFile = 512 << 20

// Dir is an open directory.
type Dir struct {
	h    *Handle
	path string
	uid  int // our user id

	listing sync.Mutex // guards listed, and the read position of h
	listed  bool       // Names was called, so the read position is no longer at the start
}

// Open opens a directory that belongs to us, and to which no other user may write.
func Open(path string) (*Dir, error) {
	d, err := openDir(path)
	if err != nil {
		return nil, err
	}
	return d.private()
}

// Create is Open, but first makes the directory and its parents if they are missing.
func Create(path string) (*Dir, error) {
	if d, err := Open(path); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return d, err
	}
	parent := filepath.Dir(path)
	if _, err := os.Stat(parent); errors.Is(err, fs.ErrNotExist) && parent != path {
		p, err := Create(parent)
		if err != nil {
			return nil, err
		}
		p.Close()
	}
	if err := ShutsOut(parent); err != nil {
		return nil, fmt.Errorf("make directory %q: %w", path, err)
	}
	err := os.Mkdir(path, 0o700)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("make directory %q: %w", path, errors.Unwrap(err))
	}
	if err := SyncDir(parent); err != nil {
		return nil, err
	}
	return Open(path)
}

// The method private returns d if d is a directory of ours, to which no other user may write.
// Otherwise it closes d and returns an error.
func (d *Dir) private() (*Dir, error) {
	var st unix.Stat_t
	err := retry(func() error { return unix.Fstat(d.fd(), &st) })
	switch mode := uint32(st.Mode); {
	case err != nil:
	case mode&unix.S_IFMT != unix.S_IFDIR:
		err = fmt.Errorf("%w: not a directory", ErrNotOurs)
	case int(st.Uid) != d.uid:
		err = fmt.Errorf("%w: it belongs to uid %d: run c2c as that user, or chown it to this one", ErrNotOurs, st.Uid)
	case mode&0o022 != 0:
		err = fmt.Errorf("%w: others may write to it (mode %04o); choose another root, or run chmod go-w on it if it is yours alone", ErrNotOurs, mode&0o777)
	}
	if err != nil {
		d.Close()
		return nil, fmt.Errorf("open directory %q: %w", d.path, err)
	}
	return d, nil
}

// Path returns the path with which the directory was opened.
func (d *Dir) Path() string { return d.path }

// Replaced reports whether the directory was removed or replaced since it was opened.
func (d *Dir) Replaced() (bool, error) {
	var was, now unix.Stat_t
	err := retry(func() error { return unix.Fstat(d.fd(), &was) })
	if err == nil {
		err = retry(func() error { return unix.Stat(d.path, &now) })
	}
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, &fs.PathError{Op: "stat", Path: d.path, Err: err}
	}
	return was.Dev != now.Dev || was.Ino != now.Ino, nil
}

// Close closes the directory.
func (d *Dir) Close() error { return d.h.Close() }

// After Sync, all renames, new names and removals in the directory survive a power cut. Its error
// is a *SyncError.
func (d *Dir) Sync() error {
	if err := d.h.sync(); err != nil {
		return &SyncError{d.path, errors.Unwrap(err)}
	}
	return nil
}

// SyncError says that a change in a directory was made, but perhaps does not survive a power cut.
type SyncError struct {
	Path string
	Err  error
}

func (e *SyncError) Error() string { return fmt.Sprintf("sync directory %q: %v", e.Path, e.Err) }
func (e *SyncError) Unwrap() error { return e.Err }

// CreateIf is Create if create is true. Otherwise it is Open, and d is nil if there is no
// directory.
func CreateIf(path string, create bool) (d *Dir, err error) {
	if create {
		return Create(path)
	}
	if d, err = Open(path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return d, err
}

// Sub opens the directory called name in d. If create is set and there is no such directory, Sub
// makes it first.
func (d *Dir) Sub(name string, create bool) (*Dir, error) {
	sub, err := d.sub(name)
	if !create || !errors.Is(err, fs.ErrNotExist) {
		return sub, err
	}
	if err := d.mkdir(name); err != nil {
		return nil, err
	}
	if err := d.Sync(); err != nil {
		return nil, err
	}
	return d.sub(name)
}

func (d *Dir) sub(name string) (*Dir, error) {
	if err := component(name); err != nil {
		return nil, err
	}
	fd, err := d.descriptor(name, os.O_RDONLY|syscall.O_DIRECTORY)
	if err != nil {
		return nil, d.fail("open directory", name, err)
	}
	path := filepath.Join(d.path, name)
	return (&Dir{h: newHandle(fd, path, ""), path: path, uid: d.uid}).private()
}

// mkdir makes a directory. If the directory exists, that is no error, because another process may
// have made it at the same time.
func (d *Dir) mkdir(name string) error {
	err := unix.Mkdirat(d.fd(), name, 0o700)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return d.fail("make directory", name, err)
}

// Names lists the directory, unsorted.
func (d *Dir) Names() ([]string, error) {
	d.listing.Lock()
	defer d.listing.Unlock()
	if d.listed {
		if _, err := unix.Seek(d.fd(), 0, io.SeekStart); err != nil {
			return nil, d.fail("list", "", err)
		}
	}
	d.listed = true
	names, err := namesIn(d.fd())
	return names, d.fail("list", "", err)
}

// NameSet returns what Names returns, as a set.
func (d *Dir) NameSet() (map[string]bool, error) {
	names, err := d.Names()
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set, err
}
