package atomicfile

import (
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// A name is one component, so only its last step can be a symbolic link:
// O_NOFOLLOW at the open directory is all that "beneath" takes, and unlike
// openat2 it exists on every kernel and on macOS.
func openBeneath(dir *os.File, name string, flag int, mode uint32) (*os.File, error) {
	for {
		fd, err := unix.Openat(int(dir.Fd()), name, flag|unix.O_NOFOLLOW|unix.O_CLOEXEC, mode)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, err
		}
		return os.NewFile(uintptr(fd), filepath.Join(dir.Name(), name)), nil
	}
}

// utimensat sets the time of the last change.
func utimensat(dir *os.File, name string, at time.Time) error {
	ts := unix.NsecToTimespec(at.UnixNano())
	return unix.UtimesNanoAt(int(dir.Fd()), name, []unix.Timespec{ts, ts}, unix.AT_SYMLINK_NOFOLLOW)
}

func mkdirat(dir *os.File, name string, mode uint32) error {
	return unix.Mkdirat(int(dir.Fd()), name, mode)
}

func renameat(from *os.File, old string, to *os.File, new string) error {
	return unix.Renameat(int(from.Fd()), old, int(to.Fd()), new)
}

func unlinkat(dir *os.File, name string) error {
	return unix.Unlinkat(int(dir.Fd()), name, 0)
}

func rmdirat(dir *os.File, name string) error {
	return unix.Unlinkat(int(dir.Fd()), name, unix.AT_REMOVEDIR)
}
