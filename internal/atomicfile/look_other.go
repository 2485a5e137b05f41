//go:build !linux || portable

package atomicfile

import (
	"os"

	"golang.org/x/sys/unix"
)

// lookOnly has the flags with which a file, also a FIFO, is opened only to describe it. On this
// system the call fails for a symbolic link, because openBeneath adds O_NOFOLLOW.
const lookOnly = unix.O_RDONLY | unix.O_NONBLOCK

// namesIn lists an open directory. It uses package os, because on macOS unix.ReadDirent
// rereads the directory for each block.
func namesIn(fd int) ([]string, error) {
	second, err := unix.Openat(fd, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(second), ".")
	defer f.Close()
	return f.Readdirnames(-1)
}
