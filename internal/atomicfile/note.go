package atomicfile

import (
	"errors"
	"io/fs"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// A note is a short text, such as a time. It is the text of a symbolic link that leads nowhere, so
// one system call reads it, and one makes it, whole. A note is never synced: a power cut may bring
// back the note before, or none.

// noteMost is more than the length of any note.
const noteMost = 128

// ReadNote returns the text of a note. If the name is that of another kind of file, it returns an
// error.
func (d *Dir) ReadNote(name string) (text string, err error) {
	buf := make([]byte, noteMost)
	err = d.change("read", name, func() error {
		n, err := unix.Readlinkat(d.fd(), name, buf)
		buf = buf[:max(n, 0)]
		return err
	})
	return string(buf), err
}

// MakeNote makes a note. It returns fs.ErrExist if the name is taken.
func (d *Dir) MakeNote(name, text string) error { return d.Symlink(text, name) }

// WriteNote makes a note, or replaces it. Any number of processes may write at once; the last one
// wins.
func (d *Dir) WriteNote(name, text string) (err error) {
	temp := lockedTemp(name)
	for range 10_000 { // far more than the processes that write one note at a time
		if err = d.Symlink(text, temp); errors.Is(err, fs.ErrExist) { // another process writes, or one was killed when it did
			d.Remove(temp)
			continue
		} else if err != nil {
			return err
		}
		if err = d.Rename(temp, name); err == nil {
			return nil
		} else if !errors.Is(err, fs.ErrNotExist) { // else another process has removed our link just now
			d.Remove(temp)
			return err
		}
	}
	return err
}

// TimeText is the text of a note with a time: the nanoseconds since 1970; 0 for the zero time.
func TimeText(t time.Time) string {
	if t.IsZero() {
		return "0"
	}
	return strconv.FormatInt(t.UnixNano(), 10)
}

// ParseTime is the reverse of TimeText. A damaged text has the zero time.
func ParseTime(text string) time.Time {
	ns, err := strconv.ParseInt(text, 10, 64)
	if err != nil || ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns)
}

// ReadTime reads a note with a time.
func (d *Dir) ReadTime(name string) (time.Time, error) {
	text, err := d.ReadNote(name)
	return ParseTime(text), err
}
