package atomicfile

import "golang.org/x/sys/unix"

const (
	getLock     = unix.F_OFD_GETLK
	setLock     = unix.F_OFD_SETLK
	setLockWait = unix.F_OFD_SETLKW
)

func syncFD(fd int) error { return unix.Fsync(fd) }
