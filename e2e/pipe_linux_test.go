package e2e

import (
	"os"

	"golang.org/x/sys/unix"
)

// shrink makes a pipe hold one page.
func shrink(pipe *os.File) error {
	_, err := unix.FcntlInt(pipe.Fd(), unix.F_SETPIPE_SZ, 4096)
	return err
}
