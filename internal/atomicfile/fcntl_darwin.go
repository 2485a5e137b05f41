package atomicfile

import "golang.org/x/sys/unix"

// The numbers are from xnu's bsd/sys/fcntl.h, because golang.org/x/sys has no names for them.
const (
	setLock     = 90
	setLockWait = 91
	getLock     = 92
)

// syncFD makes written data durable. On this system fsync alone would leave the data in the drive's
// cache.
func syncFD(fd int) error {
	_, err := unix.FcntlInt(uintptr(fd), unix.F_FULLFSYNC, 0)
	return err
}
