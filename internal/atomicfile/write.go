package atomicfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The name of a temporary file begins with the name of the file that it will replace; then comes
// tempMark. The OCaml c2c does the same.
const tempMark = ".tmp."

// TempName returns a name for the temporary file that has the new content of a file. Our process id
// is in it, see sweep.
func TempName(name string) string {
	return name + tempMark + strconv.Itoa(os.Getpid()) + "." + strconv.FormatInt(time.Now().UnixNano(), 36)
}

// IsTemp reports whether name belongs to a temporary file, which has not replaced its file yet. If
// a file is only written under its lock, a process that holds the lock may take such a file for one
// that a dead process has left.
func IsTemp(name string) bool { return strings.Contains(name, tempMark) }

// Write replaces the file. When it returns nil, the new content survives a power cut. After a
// *SyncError the new content is in place, but perhaps does not survive a power cut. After any other
// error the old content is still there. Any number of processes may write at once; the last one
// wins. Write also removes temporary files that dead writers left.
func (d *Dir) Write(name string, data []byte) error {
	err := d.replace(name, TempName(name), data, (*Handle).sync)
	if err == nil {
		d.sweep(name)
	}
	return err
}

// WriteUnsynced is Write for a file whose loss in a power cut does no harm. The file may then also
// be empty.
func (d *Dir) WriteUnsynced(name string, data []byte) error {
	err := d.put(name, TempName(name), data, func(*Handle) error { return nil })
	if err == nil {
		d.sweep(name)
	}
	return err
}

// sweep removes temporary files that writers of the file have left because their processes died.
func (d *Dir) sweep(name string) {
	names, _ := d.Names()
	for _, left := range names {
		rest, ours := strings.CutPrefix(left, name+tempMark)
		pid, _, _ := strings.Cut(rest, ".")
		// A live process in another container looks dead, too. If we remove its temporary file, its
		// write fails, but nothing is damaged.
		if n, err := strconv.Atoi(pid); ours && err == nil && n > 0 && errors.Is(syscall.Kill(n, 0), syscall.ESRCH) {
			d.Remove(left)
		}
	}
}

// Replace is Write for a caller that holds the lock of the file. It also removes the temporary file
// that a dead writer left.
func (d *Dir) Replace(name string, data []byte) error {
	err := d.replace(name, lockedTemp(name), data, (*Handle).sync)
	if errors.Is(err, fs.ErrExist) {
		if err := d.RemoveLeftover(name); err != nil {
			return err
		}
		err = d.replace(name, lockedTemp(name), data, (*Handle).sync)
	}
	return err
}

func lockedTemp(name string) string { return name + tempMark + "c2c" }

// RemoveLeftover removes the temporary file that a process left when it died in Replace. The caller
// holds the lock of the file. A caller that writes the file need not call it, because Replace does.
func (d *Dir) RemoveLeftover(name string) error {
	err := d.Remove(lockedTemp(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// replace is put, and then syncs the directory.
func (d *Dir) replace(name, tmp string, data []byte, finish func(*Handle) error) error {
	if err := d.put(name, tmp, data, finish); err != nil {
		return err
	}
	return d.Sync()
}

// put writes tmp, calls finish, which may sync tmp, and renames tmp to name. If finish returns an
// error, the old file stays.
func (d *Dir) put(name, tmp string, data []byte, finish func(*Handle) error) error {
	return d.change("write", name, func() error {
		fd, err := d.descriptor(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
		if err != nil {
			return err
		}
		f := newHandle(fd, d.path, tmp)
		_, err = f.Write(data)
		if err == nil {
			err = finish(f)
		}
		err = errors.Join(err, f.Close())
		if err == nil {
			err = unix.Renameat(d.fd(), tmp, d.fd(), name)
		}
		if err != nil {
			d.Remove(tmp)
		}
		return err
	})
}

// AppendLines adds whole lines to the end of the file and syncs it. The caller holds the lock. If
// AppendLines fails, it cuts off what it has added, so a full disk leaves no part of the lines in the
// file. If a power cut has left half a line at the end of the file, AppendLines ends that line first.
func (d *Dir) AppendLines(name string, lines []byte) error {
	f, err := d.OpenHandle(name, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return err
	}
	size := f.Size()
	if err = f.appendAt(size, lines); err != nil {
		unix.Ftruncate(int(f.Fd()), size)
	}
	if err = errors.Join(err, f.Close()); err != nil || size > 0 {
		return d.fail("append to", name, err)
	}
	return d.Sync()
}

func (h *Handle) appendAt(size int64, data []byte) error {
	if len(data) > 0 && size > 0 {
		var last [1]byte
		if _, err := h.ReadAt(last[:], size-1); err != nil {
			return err
		}
		if last[0] != '\n' {
			data = append([]byte{'\n'}, data...)
		}
	}
	if _, err := h.WriteAt(data, size); err != nil {
		return err
	}
	return h.sync()
}

// Rotate renames the log called name to old if the log has at least size bytes. The next line
// begins a new log. If AppendLines writes that line, it syncs the directory, so both the rename and
// the new log survive a power cut.
func Rotate(d *Dir, name, old string, size int64) error {
	info, err := d.Stat(name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() < size {
		return nil
	}
	if err != nil {
		return err
	}
	return d.Rename(name, old)
}

// Log adds a line to the end of a file, without a sync. If a full disk takes only half of the line,
// Log cuts this half off: otherwise the next line would be joined to it, and would be lost, too.
func (d *Dir) Log(name string, line []byte) error {
	f, err := d.OpenHandle(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND)
	if err != nil {
		return err
	}
	n, err := f.Write(line)
	if err != nil && n > 0 {
		end, serr := unix.Seek(int(f.Fd()), 0, io.SeekCurrent)
		if size, ferr := f.SizeNow(); serr == nil && ferr == nil && size == end { // no line was added since
			unix.Ftruncate(int(f.Fd()), end-int64(n))
		}
	}
	return d.fail("append to", name, errors.Join(err, f.Close()))
}
