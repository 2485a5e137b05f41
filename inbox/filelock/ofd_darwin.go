package filelock

// From xnu's bsd/sys/fcntl.h; golang.org/x/sys does not name them.
const (
	setLock     = 90
	setLockWait = 91
	getLock     = 92
)
