package atomicfile

// The numbers are from xnu's bsd/sys/fcntl.h, because golang.org/x/sys has no names for them.
const (
	setLock     = 90
	setLockWait = 91
	getLock     = 92
)
