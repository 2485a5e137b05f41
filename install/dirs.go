package install

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// MissingDirs returns dir and its parents, without those that exist; the outermost comes first.
func MissingDirs(dir string) ([]string, error) {
	_, err := os.Lstat(dir)
	if !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) {
		return nil, err
	}
	above, err := MissingDirs(filepath.Dir(dir))
	return append(above, dir), err
}

// IsDir reports whether path is a directory, or a link to one.
func IsDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// RemoveDirs removes the empty ones among dirs, innermost first. It returns the directories that
// still exist.
func RemoveDirs(dirs []string) (left []string, err error) {
	for _, dir := range slices.Backward(MergeDirs(dirs, nil)) {
		switch rerr := syscall.Rmdir(dir); { // os.Remove would also remove a link
		case errors.Is(rerr, syscall.ENOTEMPTY), errors.Is(rerr, fs.ErrExist):
			left = append(left, dir)
		case rerr != nil && !Absent(rerr):
			left, err = append(left, dir), errors.Join(err, &fs.PathError{Op: "remove", Path: dir, Err: rerr})
		}
	}
	slices.Reverse(left)
	return left, err
}

// MergeDirs returns the union of a and b, sorted, so that a directory comes before the directories
// in it.
func MergeDirs(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// IsLocked reports whether another install or uninstall holds the lock.
func IsLocked(stateDir string) bool {
	f, err := os.Open(stateDir)
	if err != nil {
		return false
	}
	defer f.Close()
	return syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) == syscall.EWOULDBLOCK
}

// LockDir locks an open directory. It returns false if another process has the lock, or if the
// directory was removed or replaced.
func LockDir(f *os.File) (bool, error) {
	switch err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err {
	case nil, syscall.EBADF, syscall.ENOTSUP: // NFS cannot lock a directory: there only the check of each file guards against other processes
	case syscall.EWOULDBLOCK, syscall.EINTR:
		return false, nil
	default:
		return false, err
	}
	was, err := f.Stat()
	if err != nil {
		return false, err
	}
	now, err := os.Stat(f.Name())
	return err == nil && os.SameFile(was, now), nil
}
