// This part locks files, so that only one goroutine or process at a time reads and writes the data
// that a lock file protects. It also excludes programs that use lockf.
//
// The lock is a record lock of an open file description (F_OFD_SETLKW) on a file beside the data.
// Two other kinds of locks are not enough. A lock of flock(2) does not exclude lockf, which the
// OCaml c2c uses. A plain POSIX lock does not exclude other goroutines, and it vanishes when the
// process closes any descriptor of the file. The kernel releases the lock when its holder dies, so
// no crash leaves one behind. Only the holder of a lock may remove its file; a process that gets
// the lock of a removed file opens the file anew. The OCaml c2c does not check whether a file was
// removed, so never remove a lock file that the OCaml c2c may use.

package atomicfile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// ErrLockTimeout says that the context ended before the lock was free. The returned errors wrap it.
var ErrLockTimeout = errors.New("lock is held by another process")

// Lock is an open lock file. The caller holds the lock when Try has returned true, or Wait has
// returned nil. The zero Lock holds nothing.
type Lock struct {
	f    *Handle
	dir  *Dir
	name string
}

// OpenLocked opens a lock file, and makes it if it is missing. It does not take the lock.
func OpenLocked(d *Dir, name string) (*Lock, error) {
	f, err := d.OpenHandle(name, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	return &Lock{f, d, name}, nil
}

// Pass makes a lock outlive this program: the program that this process executes next still holds
// it. The result is for Passed in that program.
func (l *Lock) Pass() (fd string, err error) {
	_, err = unix.FcntlInt(l.f.Fd(), unix.F_SETFD, 0)
	return strconv.Itoa(int(l.f.Fd())), err
}

// Passed is OpenLocked, but if fd is from Pass, it returns the lock that was passed.
func Passed(d *Dir, name, fd string) (*Lock, error) {
	n, err := strconv.Atoi(fd)
	if err != nil {
		return OpenLocked(d, name)
	}
	l := &Lock{newHandle(n, d.Path(), name), d, name}
	err = l.f.see(d.uid)
	same := false
	if err == nil {
		same, err = d.IsFile(name, l.f)
	}
	if err == nil && same {
		_, err = unix.FcntlInt(l.f.Fd(), unix.F_SETFD, unix.FD_CLOEXEC)
		return l, err
	}
	return OpenLocked(d, name)
}

// Path returns the path of the lock file. When a process releases the lock, it closes the file, and
// a watch on the file reports this.
func (l *Lock) Path() string { return filepath.Join(l.dir.Path(), l.name) }

// Acquire waits for the lock until ctx ends.
func Acquire(ctx context.Context, d *Dir, name string) (*Lock, error) {
	l, err := OpenLocked(d, name)
	if err != nil {
		return nil, err
	}
	if err := l.Wait(ctx); err != nil {
		return nil, err
	}
	return l, nil
}

// WithLock runs f while it holds the lock.
func WithLock(ctx context.Context, d *Dir, name string, f func() error) (err error) {
	l, err := Acquire(ctx, d, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Release()) }()
	return f()
}

// Try takes the lock if it is free. For a moment it may be held by a wait whose caller gave up, see
// abandoned.
func (l *Lock) Try() (bool, error) { return l.try(unix.F_WRLCK) }

// Share is Try for a shared lock. Any number of processes may hold the lock by Share at the same
// time, but none while a process holds it by Try or Wait.
func (l *Lock) Share() (bool, error) { return l.try(unix.F_RDLCK) }

func (l *Lock) try(kind int16) (bool, error) {
	for {
		ok, err := try(l.f, kind)
		removed := false
		if ok && err == nil {
			removed, err = l.reopen()
		}
		if err != nil {
			return false, fmt.Errorf("lock %q: %w", l.Path(), err)
		}
		if !removed {
			return ok, nil
		}
	}
}

// reopen opens the file anew if it was removed: a lock on a removed file does not exclude processes
// that come later.
func (l *Lock) reopen() (removed bool, err error) {
	same, err := l.dir.IsFile(l.name, l.f)
	if err != nil || same {
		return false, err
	}
	f, err := l.dir.OpenHandle(l.name, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return false, err
	}
	l.f.Close()
	l.f = f
	return true, nil
}

// Release closes the file, and so releases the lock if it is held.
func (l *Lock) Release() error {
	if l == nil || l.f == nil {
		return nil
	}
	return l.f.Close()
}
