package filelock

import (
	"errors"
	"io/fs"

	"c2c/inbox/atomicfile"
)

// Discard removes a lock file if nobody has the lock. It takes the lock first, so nobody gets it before the name is gone;
// whoever has opened the file, or waits for it, sees then that it has no name any more, and opens the new one (reopen).
// It is for locks that only programs use that look.
func Discard(d *atomicfile.Dir, name string) error {
	if _, err := d.Stat(name); errors.Is(err, fs.ErrNotExist) {
		return nil // Open would make it
	}
	l, err := Open(d, name)
	if err != nil {
		return err
	}
	free, err := l.Try()
	if err == nil && free {
		err = d.Remove(name)
	}
	return errors.Join(err, l.Release())
}
