//go:build !linux || portable

package atomicfile

import (
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// HasName reports whether an entry has exactly this name. Most file systems of macOS also find the
// entry by a name in another case.
func (d *Dir) HasName(name string) bool {
	names, err := d.Names()
	return err != nil || slices.Contains(names, name)
}

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
