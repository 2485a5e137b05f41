package filelock

import (
	"errors"
	"io/fs"

	"c2c/inbox/atomicfile"
)

// Discard removes a lock file if the lock is free. It takes the lock first, so no other process gets the lock before the name is
// gone. A process that has opened the file, or waits for it, then sees that the name is gone, and opens the new file (reopen). Use
// it only for locks whose users all check this.
func Discard(d *atomicfile.Dir, name string) error {
	if _, err := d.Stat(name); errors.Is(err, fs.ErrNotExist) {
		return nil // Open would make the file
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
