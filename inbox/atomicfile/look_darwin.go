package atomicfile

import (
	"os"

	"golang.org/x/sys/unix"
)

// lookOnly opens a name to describe it, a FIFO too. O_NOFOLLOW, which openBeneath adds, refuses a symbolic link here: a foreign
// file is an error.
const lookOnly = unix.O_RDONLY | unix.O_NONBLOCK

// syncFD also flushes the drive's cache: here fsync alone leaves the bytes in it.
func syncFD(fd int) error {
	_, err := unix.FcntlInt(uintptr(fd), unix.F_FULLFSYNC, 0)
	return err
}

// namesIn lists an open directory. It uses package os, because here unix.ReadDirent rereads the directory for each block.
func namesIn(fd int) ([]string, error) {
	again, err := unix.Openat(fd, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(again), ".")
	defer f.Close()
	return f.Readdirnames(-1)
}
