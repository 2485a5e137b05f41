package install

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// lockTime is the longest wait for another install. An install takes milliseconds.
const lockTime = 10 * time.Second

// lock keeps other installs and uninstalls out until unlock is called. It locks the private directory of the journal, so that no lock
// file is left over. If another process removes the directory meanwhile, lock makes it again.
func (p *Plan) lock() (unlock func(), err error) {
	if !p.recorded && p.journal.file.data == nil {
		return func() {}, nil // there is no journal to lose
	}
	for end := time.Now().Add(lockTime); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		missing, err := p.journal.file.change([]byte{}, 0o600).missingDirs()
		if err != nil {
			return nil, err
		}
		p.made = mergeDirs(p.made, missing)
		if err := p.makeDirs(p.stateDir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		f, err := os.Open(p.stateDir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return nil, err
		}
		locked, err := lockDir(f)
		if locked {
			return func() { f.Close() }, nil
		}
		f.Close()
		if err != nil {
			return nil, fmt.Errorf("lock %s: %w", p.stateDir, err)
		}
	}
	removeDirs(p.made)
	return nil, fmt.Errorf("lock %s: another c2c install or uninstall is running; try again when it has ended", filepath.Clean(p.stateDir))
}

// isLocked reports whether another install or uninstall holds the lock.
func isLocked(stateDir string) bool {
	f, err := os.Open(stateDir)
	if err != nil {
		return false
	}
	defer f.Close()
	return syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) == syscall.EWOULDBLOCK
}

// lockDir locks an open directory. It returns false if another process has the lock, or if the directory was removed or
// replaced.
func lockDir(f *os.File) (bool, error) {
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
