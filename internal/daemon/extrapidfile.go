package daemon

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// maxPIDLine is larger than the length of any pid file.
const maxPIDLine = 32

// writeExtraPIDFile writes the process id to the file that a person has named. It overwrites only
// an empty file, or the file that a killed daemon of ours has left. A file is from a killed daemon
// if our own pid file still exists, with the same content.
func (d Process) writeExtraPIDFile() (err error) {
	foreign := fmt.Errorf("%s is no pid file of the %s: name another one, or remove it", d.ExtraPIDFile, d.What)
	f, err := os.OpenFile(d.ExtraPIDFile, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if errors.Is(err, syscall.ELOOP) {
		return foreign
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	left, err := d.Dir.ReadIf(d.pidFile())
	if err != nil {
		return err
	}
	if !holds(f, left) {
		return foreign
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err = f.WriteAt(pidLine(), 0)
	return err
}

// holds reports whether f is a regular file that is empty or contains exactly text.
func holds(f *os.File, text []byte) bool {
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	data, err := io.ReadAll(io.LimitReader(f, maxPIDLine))
	return err == nil && (len(data) == 0 || bytes.Equal(data, text))
}

// removeExtraPIDFile removes the file if it still contains our process id.
func (d Process) removeExtraPIDFile() error {
	f, err := os.OpenFile(d.ExtraPIDFile, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ELOOP) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Size() == 0 || !holds(f, pidLine()) {
		return err
	}
	return os.Remove(d.ExtraPIDFile)
}
