package atomicfile

import (
	"errors"
	"io/fs"
)

// DiscardLock removes a lock file if the lock is free. It takes the lock first, so no other process
// gets the lock before the file is removed. A process that waits for the lock, or has just opened
// the file, notices when it gets the lock that the file was removed, and opens a new file (reopen).
// Use Discard only for locks whose users all do so.
func DiscardLock(d *Dir, name string) error {
	if _, err := d.Stat(name); errors.Is(err, fs.ErrNotExist) {
		return nil // below, Open would make the file
	}
	l, err := OpenLocked(d, name)
	if err != nil {
		return err
	}
	free, err := l.Try()
	if err == nil && free {
		err = d.Remove(name)
	}
	return errors.Join(err, l.Release())
}
