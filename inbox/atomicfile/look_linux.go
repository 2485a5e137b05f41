package atomicfile

import "golang.org/x/sys/unix"

// lookOnly is the flag that opens a file only to describe it, also a symbolic link or a FIFO.
const lookOnly = unix.O_PATH

func syncFD(fd int) error { return unix.Fsync(fd) }

// namesIn lists an open directory, from its current read position.
func namesIn(fd int) (names []string, err error) {
	buf := make([]byte, 8<<10)
	for {
		n := 0
		err := again(func() (err error) {
			n, err = unix.ReadDirent(fd, buf)
			return err
		})
		if err != nil || n <= 0 {
			return names, err
		}
		_, _, names = unix.ParseDirent(buf[:n], -1, names)
	}
}
