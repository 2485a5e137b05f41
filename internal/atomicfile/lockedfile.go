package atomicfile

import "golang.org/x/sys/unix"

// File is an open file: an *os.File or an *atomicfile.Handle.
type LockedFile interface{ Fd() uintptr }

// TryFile locks an open file if the lock is free. The lock ends when f is closed.
func TryFile(f LockedFile) (bool, error) { return try(f, unix.F_WRLCK) }

func try(f LockedFile, kind int16) (bool, error) {
	err := fcntl(f, setLock, kind)
	if err == unix.EAGAIN || err == unix.EACCES {
		return false, nil
	}
	return err == nil, err
}

// FreeFile reports whether the lock of an open file is free. It does not take the lock.
func FreeFile(f LockedFile) (bool, error) {
	lk := unix.Flock_t{Type: unix.F_WRLCK}
	err := unix.FcntlFlock(f.Fd(), getLock, &lk)
	return lk.Type == unix.F_UNLCK, err
}

func fcntl(f LockedFile, cmd int, kind int16) error {
	lk := unix.Flock_t{Type: kind}
	for {
		if err := unix.FcntlFlock(f.Fd(), cmd, &lk); err != unix.EINTR {
			return err
		}
	}
}
