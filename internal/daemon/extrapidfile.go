package daemon

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"c2c/internal/atomicfile"
)

// maxPIDLine is larger than the length of any process id.
const maxPIDLine = 32

// writeExtraPIDFile writes the process id to the file that a person has named. It overwrites only an
// empty file, or the file that a killed process of ours has left: one with the id that our lock file
// still has.
func (d Process) writeExtraPIDFile() error {
	left, err := d.said()
	if err != nil {
		return err
	}
	if ok, err := d.ownsExtraPIDFile(left); err != nil || !ok {
		return errors.Join(err, fmt.Errorf("%s is no pid file of the %s: name another one, or remove it", d.ExtraPIDFile, d.What))
	}
	f, err := os.OpenFile(d.ExtraPIDFile, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(pidLine())
	return errors.Join(err, f.Close())
}

// removeExtraPIDFile removes the file if it still contains our process id.
func (d Process) removeExtraPIDFile() error {
	if ok, err := d.ownsExtraPIDFile(pidLine()); err != nil || !ok {
		return err
	}
	return atomicfile.UnlessAbsent(os.Remove(d.ExtraPIDFile))
}

// ownsExtraPIDFile reports whether the file is missing or empty, or contains just text.
func (d Process) ownsExtraPIDFile(text string) (bool, error) {
	info, err := os.Lstat(d.ExtraPIDFile)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxPIDLine {
		return false, err
	}
	data, err := os.ReadFile(d.ExtraPIDFile)
	return len(data) == 0 || string(data) == text, err
}
