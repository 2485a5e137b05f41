// Package filelock excludes goroutines, processes and lockf peers from each
// other while a mailbox is read and written back.
//
// The lock is an open-file-description record lock (F_OFD_SETLKW) on a file
// beside the data. flock(2) would not do: it does not exclude the original's
// lockf. Plain POSIX locks would not either: they do not exclude goroutines
// and vanish when any descriptor of the file is closed. The kernel ends the
// lock with its holder, so no crash leaves one behind. The lock file is never
// removed: unlinking it would split the lock in two.
package filelock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"c2c/inbox/atomicfile"
)

// ErrTimeout is wrapped when the context ended before the lock was free.
var ErrTimeout = errors.New("lock is held by another process")

// Lock is an open lock file: held after Try said so or Wait returned nil. The
// zero Lock holds nothing.
type Lock struct {
	f    *os.File
	path string
}

// Open opens a lock and does not take it.
func Open(d *atomicfile.Dir, name string) (*Lock, error) {
	f, err := d.Open(name, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	return &Lock{f, filepath.Join(d.Path(), name)}, nil
}

// Acquire waits for the lock until ctx ends.
func Acquire(ctx context.Context, d *atomicfile.Dir, name string) (*Lock, error) {
	l, err := Open(d, name)
	if err != nil {
		return nil, err
	}
	if err := l.Wait(ctx); err != nil {
		return nil, err
	}
	return l, nil
}

// Try takes the lock if nobody holds it.
func (l *Lock) Try() (bool, error) {
	ok, err := TryFile(l.f)
	if err != nil {
		err = fmt.Errorf("lock %q: %w", l.path, err)
	}
	return ok, err
}

// Wait waits for the lock until ctx ends. On an error the lock is closed.
func (l *Lock) Wait(ctx context.Context) error {
	err := lock(ctx, l.f, unix.F_WRLCK)
	if err == nil {
		return nil
	}
	l.f = nil
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) { // who cancels does not ask why it took so long
		err = fmt.Errorf("%w%s", err, holder(l.path))
	}
	return fmt.Errorf("lock %q: %w", l.path, err)
}

// Outwait waits until nobody has the lock of an open file, and takes it from
// nobody who waits for the same: when it is free, all of them go on at once. On
// an error the file is closed.
func Outwait(ctx context.Context, f *os.File) error {
	if err := lock(ctx, f, unix.F_RDLCK); err != nil {
		return err
	}
	return fcntl(f, setLock, unix.F_UNLCK)
}

// lock takes f, which is closed unless nil is returned. A blocked fcntl cannot
// be interrupted in Go (the runtime installs its handlers with SA_RESTART), so
// a waiter that gives up leaves a goroutine that drops the lock when it comes.
func lock(ctx context.Context, f *os.File, kind int16) error {
	ok, err := try(f, kind)
	if ok {
		return nil
	}
	if err != nil {
		f.Close()
		return err
	}
	got := make(chan error, 1)
	go func() { got <- fcntl(f, setLockWait, kind) }()
	select {
	case err := <-got:
		if err != nil {
			f.Close()
		}
		return err
	case <-ctx.Done():
		go func() { <-got; f.Close() }()
		return fmt.Errorf("%w (%v)", ErrTimeout, context.Cause(ctx))
	}
}

// Release ends the lock.
func (l *Lock) Release() error {
	if l.f == nil {
		return nil
	}
	return l.f.Close()
}
