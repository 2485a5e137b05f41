//go:build !portable

package atomicfile

import (
	"golang.org/x/sys/unix"
)

// HasName reports whether an existing entry has exactly this name; on Linux, nothing else finds it.
func (*Dir) HasName(string) bool { return true }

// namesIn lists an open directory, from its current read position.
func namesIn(fd int) (names []string, err error) {
	buf := make([]byte, 8<<10)
	for {
		n := 0
		err := retry(func() (err error) {
			n, err = unix.ReadDirent(fd, buf)
			return err
		})
		if err != nil || n <= 0 {
			return names, err
		}
		_, _, names = unix.ParseDirent(buf[:n], -1, names)
	}
}
