package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// TimeOf returns the time of a file's last change, and the file's size. It makes one system call.
func (d *Dir) TimeOf(name string) (changed time.Time, size int64, err error) {
	var st unix.Stat_t
	err = d.change("stat", name, func() error { return unix.Fstatat(d.fd(), name, &st, unix.AT_SYMLINK_NOFOLLOW) })
	if err != nil {
		return time.Time{}, 0, err
	}
	return time.Unix(st.Mtim.Unix()), st.Size, nil
}

// Mark makes a file with this text and this modification time. If the name is taken, the error
// matches fs.ErrExist. When the file appears, it is complete, but it is not synced. All callers
// that make the same file must hold the same lock.
func (d *Dir) Mark(name, text string, at time.Time) error {
	tmp := lockedTemp(name)
	f, err := d.openBeneath(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	if errors.Is(err, fs.ErrExist) { // left by a dead writer
		if err := d.RemoveLeftover(name); err != nil {
			return err
		}
		f, err = d.openBeneath(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	}
	if err != nil {
		return d.fail("mark", name, err)
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err == nil {
		err = d.Touch(tmp, at)
	}
	if err == nil {
		err = d.Link(tmp, d, name)
	}
	return d.fail("mark", name, errors.Join(err, d.Remove(tmp)))
}
