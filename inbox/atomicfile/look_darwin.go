package atomicfile

import (
	"os"

	"golang.org/x/sys/unix"
)

// lookOnly are the flags that open a file only to describe it, also a FIFO. On this system a symbolic link is an error, because
// openBeneath adds O_NOFOLLOW.
const lookOnly = unix.O_RDONLY | unix.O_NONBLOCK

// syncFD also flushes the drive's cache: on this system fsync alone leaves the bytes there.
func syncFD(fd int) error {
	_, err := unix.FcntlInt(uintptr(fd), unix.F_FULLFSYNC, 0)
	return err
}

// namesIn lists an open directory. It uses package os, because on this system unix.ReadDirent rereads the directory for each block.
func namesIn(fd int) ([]string, error) {
	again, err := unix.Openat(fd, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(again), ".")
	defer f.Close()
	return f.Readdirnames(-1)
}
