package daemon

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// maxPIDLine is larger than the length of any process id.
const maxPIDLine = 32

// openExtraPIDFile opens the file that a person has named for the process id. If it is no regular
// file, or contains anything but text, foreign is true, and it is not opened.
func (d Process) openExtraPIDFile(flag int, text string) (f *os.File, foreign bool, err error) {
	f, err = os.OpenFile(d.ExtraPIDFile, flag|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, errors.Is(err, syscall.ELOOP), err
	}
	info, err := f.Stat()
	if err == nil && info.Mode().IsRegular() {
		var data []byte
		data, err = io.ReadAll(io.LimitReader(f, maxPIDLine))
		if err == nil && (len(data) == 0 || string(data) == text) {
			return f, false, nil
		}
	}
	return nil, err == nil, errors.Join(err, f.Close())
}

// writeExtraPIDFile writes the process id to the file. It overwrites only an empty file, or the file
// that a killed process of ours has left: one with the id that our lock file still has.
func (d Process) writeExtraPIDFile() error {
	left, err := d.said()
	if err != nil {
		return err
	}
	f, foreign, err := d.openExtraPIDFile(os.O_RDWR|os.O_CREATE, left)
	if foreign {
		return fmt.Errorf("%s is no pid file of the %s: name another one, or remove it", d.ExtraPIDFile, d.What)
	}
	if err != nil {
		return err
	}
	_, err = f.WriteAt([]byte(pidLine()), 0)
	return errors.Join(err, f.Truncate(int64(len(pidLine()))), f.Close())
}

// removeExtraPIDFile removes the file if it still contains our process id.
func (d Process) removeExtraPIDFile() error {
	f, foreign, err := d.openExtraPIDFile(os.O_RDONLY, pidLine())
	if errors.Is(err, fs.ErrNotExist) || foreign {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(os.Remove(d.ExtraPIDFile), f.Close())
}
