package atomicfile

import (
	"os"

	"golang.org/x/sys/unix"
)

// IsHeld reports whether a process holds the lock of a file. It returns false if there is no file,
// and makes none. It does not open the file for writing, because its watchers would wake when such
// a file is closed.
func (d *Dir) IsHeld(name string) (bool, error) {
	f, err := d.OpenHandle(name, os.O_RDONLY)
	if err != nil {
		return false, UnlessAbsent(err)
	}
	defer f.Close()
	free, err := FreeFile(f)
	return err == nil && !free, err
}

// TryFile locks an open file if the lock is free. The lock ends when f is closed.
func TryFile(f *Handle) (bool, error) { return try(f, unix.F_WRLCK) }

func try(f *Handle, kind int16) (bool, error) {
	err := fcntl(f, setLock, kind)
	if err == unix.EAGAIN || err == unix.EACCES {
		return false, nil
	}
	return err == nil, err
}

// FreeFile reports whether the lock of an open file is free. It does not take the lock.
func FreeFile(f *Handle) (bool, error) {
	lk := unix.Flock_t{Type: unix.F_WRLCK}
	err := unix.FcntlFlock(f.Fd(), getLock, &lk)
	return lk.Type == unix.F_UNLCK, err
}

func fcntl(f *Handle, cmd int, kind int16) error {
	lk := unix.Flock_t{Type: kind}
	return retry(func() error { return unix.FcntlFlock(f.Fd(), cmd, &lk) })
}
