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

	"c2c/inbox/atomicfile"
)

// ErrTimeout is wrapped when the context ended before the lock was free.
var ErrTimeout = errors.New("lock is held by another process")

// Lock is a held lock; the zero Lock holds nothing.
type Lock struct{ f *os.File }

// Acquire waits for the lock until ctx ends.
func Acquire(ctx context.Context, d *atomicfile.Dir, name string) (*Lock, error) {
	f, err := d.Open(name, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(d.Path(), name)
	if err := lock(ctx, f); err != nil {
		if errors.Is(err, ErrTimeout) {
			err = fmt.Errorf("%w%s", err, holder(path))
		}
		return nil, fmt.Errorf("lock %q: %w", path, err)
	}
	return &Lock{f}, nil
}

// lock takes f, which is closed unless nil is returned. A blocked fcntl cannot
// be interrupted in Go (the runtime installs its handlers with SA_RESTART), so
// a waiter that gives up leaves a goroutine that drops the lock when it comes.
func lock(ctx context.Context, f *os.File) error {
	ok, err := TryFile(f)
	if ok {
		return nil
	}
	if err != nil {
		f.Close()
		return err
	}
	got := make(chan error, 1)
	go func() { got <- waitFile(f) }()
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
func (l *Lock) Release() error { return l.f.Close() }
