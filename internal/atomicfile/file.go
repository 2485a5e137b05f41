package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// descriptor opens the file called name in the directory, unless the file is a symbolic link. The
// name is one path component, so no other part of the path can be a link, and the flag O_NOFOLLOW
// is enough. Every Linux kernel and macOS have this flag, but not all have openat2. (os.Root would
// follow a link that stays inside the directory.)
func (d *Dir) descriptor(name string, flag int) (fd int, err error) {
	err = retry(func() error {
		fd, err = unix.Openat(d.fd(), name, flag|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
		return err
	})
	return fd, err
}

// retry makes a system call, and repeats the call as long as signals interrupt it.
func retry(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}

func (d *Dir) fd() int { return int(d.h.Fd()) }

func component(name string) error {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00") {
		return fmt.Errorf("file name %q: not a single path component", name)
	}
	return nil
}

// fail adds the operation and the name to an error. If the kernel has refused a link, a FIFO or the
// like, the result matches ErrNotOurs, as the errors of our own checks do.
func (d *Dir) fail(verb, name string, err error) error {
	var pe *fs.PathError
	if err != nil && errors.As(err, &pe) {
		err = pe.Err
	}
	switch err {
	case nil:
		return nil
	case syscall.ELOOP:
		err = fmt.Errorf("%w: it is a symbolic link; move it away", ErrNotOurs)
	case syscall.EISDIR, syscall.ENOTDIR: // the kernel also returns ENOTDIR for a link in place of a directory
		err = fmt.Errorf("%w: %w", ErrNotOurs, err)
	case syscall.ENXIO: // the error for a FIFO without a reader, and for a socket
		err = fmt.Errorf("%w: it is a FIFO or a socket; move it away", ErrNotOurs)
	}
	return &nameError{verb, d.path, name, err}
}

// notOurs returns an error for a file that is not regular, or whose owner uid differs from ours.
func notOurs(mode uint32, uid, ours int) error {
	if mode&unix.S_IFMT != unix.S_IFREG {
		return fmt.Errorf("%w: it is not a regular file (mode %o); move it away", ErrNotOurs, mode)
	}
	return fmt.Errorf("%w: it belongs to uid %d: run c2c as that user, or chown it to uid %d", ErrNotOurs, uid, ours)
}

// nameError formats its text only when the text is needed. Most errors of this type say "no such
// file", and callers drop them.
type nameError struct {
	verb, dir, name string
	err             error
}

func (e *nameError) Error() string {
	return fmt.Sprintf("%s %q: %v", e.verb, filepath.Join(e.dir, e.name), e.err)
}

func (e *nameError) Unwrap() error { return e.err }

// IsInTheWay reports whether err means that a foreign file has the name of one of our files.
func IsInTheWay(err error) bool { return errors.Is(err, ErrNotOurs) && errors.As(err, new(*nameError)) }

// Open is OpenHandle, but returns an *os.File.
func (d *Dir) Open(name string, flag int) (*os.File, error) {
	h, err := d.OpenHandle(name, flag)
	if err != nil {
		return nil, err
	}
	return os.NewFile(h.Fd(), h.Name()), nil
}

// ClockTick bounds the delay of file times: the time that the kernel gives a file may be so much
// earlier than the clock that processes read.
const ClockTick = 10 * time.Millisecond

// Info describes a file. It changes when the file is replaced or when data is appended, so it
// identifies the content of the file. The new file may get the inode of the old one, but not its
// time, unless both were written in the same tick of the clock.
type Info struct {
	inode       uint64
	size, mtime int64
	mode        fs.FileMode
}

// Size returns the size of the file in bytes.
func (i Info) Size() int64 { return i.size }

// ModTime returns the time of the last change.
func (i Info) ModTime() time.Time { return time.Unix(0, i.mtime) }

// Mode returns the permissions of the file, and whether it is a regular file, a directory, or
// anything else (fs.ModeIrregular).
func (i Info) Mode() fs.FileMode { return i.mode }

func infoOf(st *unix.Stat_t) Info {
	mode := fs.FileMode(st.Mode) & fs.ModePerm
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFDIR:
		mode |= fs.ModeDir
	default:
		mode |= fs.ModeIrregular
	}
	return Info{st.Ino, st.Size, st.Mtim.Nano(), mode}
}

// Read returns the content of a file. If there is no such file, the error matches fs.ErrNotExist.
func (d *Dir) Read(name string) ([]byte, error) { return d.ReadMost(name, MaxFile) }

// ReadMost is Read for a file of at most limit bytes. For a larger file the error matches
// ErrTooLarge. It makes only four system calls, because a send and a hook read many small files.
func (d *Dir) ReadMost(name string, limit int64) ([]byte, error) {
	h, err := d.OpenHandle(name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer h.Close()
	data, err := readAll(h, h.Size(), limit, nil)
	return data, d.fail("read", name, err)
}

// OpenHandle opens a regular file of ours. With os.O_CREATE it makes a missing file, which no other
// user may read. The file may have further hard links, because only we can link a file into a
// directory of ours.
func (d *Dir) OpenHandle(name string, flag int) (*Handle, error) {
	if err := component(name); err != nil {
		return nil, err
	}
	// O_NONBLOCK: if somebody has put a FIFO there, it must not block us. For a regular file the
	// flag has no effect.
	fd, err := d.descriptor(name, flag|syscall.O_NONBLOCK)
	if err != nil {
		return nil, d.fail("open", name, err)
	}
	h := newHandle(fd, d.path, name)
	if err := h.see(d.uid); err != nil {
		unix.Close(fd)
		return nil, d.fail("open", name, err)
	}
	return h, nil
}

// ReadIf is Read, but for a missing file it returns nil and no error.
func (d *Dir) ReadIf(name string) ([]byte, error) {
	data, err := d.Read(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

// ReadAll reads an open file from its read position to its end, into buf if buf is large enough: so a
// search through many files need not allocate memory for each. If the file is larger than MaxFile,
// the error matches ErrTooLarge.
func ReadAll(f *Handle, buf []byte) ([]byte, error) { return readAll(f, f.Size(), MaxFile, buf) }

// readAll reads size bytes of f, with one call, because a send and a hook read many small files.
// The file had this size a moment ago.
func readAll(f io.Reader, size, limit int64, buf []byte) ([]byte, error) {
	if size > limit {
		return nil, fmt.Errorf("%w: %d bytes", ErrTooLarge, size)
	}
	if int64(cap(buf)) < size || buf == nil {
		buf = make([]byte, size)
	}
	n, err := io.ReadFull(f, buf[:size])
	if err == io.EOF || err == io.ErrUnexpectedEOF { // the file was truncated meanwhile
		err = nil
	}
	return buf[:n], err
}

// Stat describes a file without following a link. It needs no permission to read the file, and makes
// one system call.
func (d *Dir) Stat(name string) (Info, error) {
	var st unix.Stat_t
	err := d.change("stat", name, func() error { return unix.Fstatat(d.fd(), name, &st, unix.AT_SYMLINK_NOFOLLOW) })
	if err != nil {
		return Info{}, err
	}
	return infoOf(&st), nil
}

// IsFile reports whether name is still a name of the open file f. The number of links of f does not
// show this, because a backup may be one of the links.
func (d *Dir) IsFile(name string, f *Handle) (bool, error) {
	info, err := d.Stat(name)
	return err == nil && info.inode == f.inode, UnlessAbsent(err)
}

// The method change checks the name, and then makes the change by calling the function call. It
// adds verb and name to the error of the call.
func (d *Dir) change(verb, name string, call func() error) error {
	if err := component(name); err != nil {
		return err
	}
	return d.fail(verb, name, call())
}

// Touch sets the time of a file's last change.
func (d *Dir) Touch(name string, at time.Time) error {
	ts := unix.NsecToTimespec(at.UnixNano())
	return d.change("touch", name, func() error {
		return unix.UtimesNanoAt(d.fd(), name, []unix.Timespec{ts, ts}, unix.AT_SYMLINK_NOFOLLOW)
	})
}

// Rename gives a file another name in the same directory. This change, and the changes below, are
// durable only after the next Sync.
func (d *Dir) Rename(old, new string) error { return d.Move(old, d, new) }

// Move moves a file to another directory of the same file system.
func (d *Dir) Move(old string, to *Dir, new string) error {
	if err := component(new); err != nil {
		return err
	}
	return d.change("rename", old, func() error { return unix.Renameat(d.fd(), old, to.fd(), new) })
}

// Link gives a file a further name, in a directory of the same file system.
func (d *Dir) Link(old string, to *Dir, new string) error {
	if err := component(new); err != nil {
		return err
	}
	return d.change("link", old, func() error { return unix.Linkat(d.fd(), old, to.fd(), new, 0) })
}

// Symlink makes a symbolic link. It returns fs.ErrExist if the name is taken.
func (d *Dir) Symlink(target, name string) error {
	return d.change("link", name, func() error { return unix.Symlinkat(target, d.fd(), name) })
}

// Remove deletes a file.
func (d *Dir) Remove(name string) error {
	return d.change("remove", name, func() error { return unix.Unlinkat(d.fd(), name, 0) })
}

// RemoveDir deletes an empty directory.
func (d *Dir) RemoveDir(name string) error {
	return d.change("remove directory", name, func() error { return unix.Unlinkat(d.fd(), name, unix.AT_REMOVEDIR) })
}

// UnlessAbsent returns err, or nil if err only means that a file is not there.
func UnlessAbsent(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
