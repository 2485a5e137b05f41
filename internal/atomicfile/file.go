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

// The type beneath is an open directory, for system calls that take a directory and the name of a
// file in it.
type beneath struct {
	h    *Handle
	path string
}

// openBeneath opens the file called name in the directory, unless the file is a symbolic link. The
// name is one path component, so no other part of the path can be a link, and the flag O_NOFOLLOW
// is enough. Every Linux kernel and macOS have this flag, but not all have openat2. (os.Root would
// follow a link that stays inside the directory.)
func (d *beneath) openBeneath(name string, flag int) (*os.File, error) {
	fd, err := d.descriptor(name, flag)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), filepath.Join(d.path, name)), nil
}

// descriptor is openBeneath, but returns a file descriptor instead of an *os.File.
func (d *beneath) descriptor(name string, flag int) (fd int, err error) {
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

func (d *beneath) fd() int { return int(d.h.Fd()) }

func component(name string) error {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00") {
		return fmt.Errorf("file name %q: not a single path component", name)
	}
	return nil
}

// fail adds the operation and the name to an error. If the kernel has refused a link, a FIFO or the
// like, the result matches ErrNotOurs, as the errors of our own checks do.
func (d *beneath) fail(verb, name string, err error) error {
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

// notOurs returns the error for a file that is not regular, or whose owner uid differs from ours.
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

// Open opens a regular file of ours. With os.O_CREATE it makes a missing file, which no other user
// may read. The file may have further hard links, because only we can link a file into a directory
// of ours.
func (d *Dir) Open(name string, flag int) (*os.File, error) {
	if err := component(name); err != nil {
		return nil, err
	}
	// O_NONBLOCK: if somebody has put a FIFO there, it must not block us. For a regular file the
	// flag has no effect.
	f, err := d.openBeneath(name, flag|syscall.O_NONBLOCK)
	if err != nil {
		return nil, d.fail("open", name, err)
	}
	info, err := f.Stat()
	if err == nil && (!info.Mode().IsRegular() || owner(info) != d.uid) {
		err = notOurs(uint32(info.Sys().(*syscall.Stat_t).Mode), owner(info), d.uid)
	}
	if err != nil {
		f.Close()
		return nil, d.fail("open", name, err)
	}
	return f, nil
}

// ClockTick bounds the delay of file times: the time that the kernel gives a file may be so much
// earlier than the clock that processes read.
const ClockTick = 10 * time.Millisecond

// Version identifies the content of a file: it changes when the file is replaced or when data is
// appended. The new file may get the inode of the old one, but not its time, unless both were
// written in the same tick of the clock.
type Version struct {
	inode       uint64
	size, mtime int64
}

// Size returns the size of the file in bytes.
func (v Version) Size() int64 { return v.size }

// IsOfSameFile reports whether two versions with the same path are versions of one file: it was
// changed between them, but not replaced.
func (v Version) IsOfSameFile(other Version) bool { return v.inode == other.inode }

// VersionOf returns the version of a file.
func VersionOf(info fs.FileInfo) Version {
	return Version{info.Sys().(*syscall.Stat_t).Ino, info.Size(), info.ModTime().UnixNano()}
}

func owner(info fs.FileInfo) int { return int(info.Sys().(*syscall.Stat_t).Uid) }

// Read returns the content of a file. If there is no such file, the error matches fs.ErrNotExist.
func (d *Dir) Read(name string) ([]byte, error) { return d.ReadMost(name, MaxFile) }

// ReadMost is Read for a file of at most limit bytes. For a larger file the error matches
// ErrTooLarge.
func (d *Dir) ReadMost(name string, limit int64) ([]byte, error) {
	data, _, err := d.readVersion(name, limit)
	return data, err
}

// ReadVersion is Read that also returns the version. If the file is written and replaced in one
// tick of the clock, both contents may have the same version. The result settled is true if that
// can no longer happen: the file was more than a second old when it was read, and every tick is
// shorter.
func (d *Dir) ReadVersion(name string) (data []byte, v Version, settled bool, err error) {
	data, v, err = d.readVersion(name, MaxFile)
	if err != nil {
		return nil, Version{}, false, err
	}
	return data, v, time.Since(time.Unix(0, v.mtime)) > time.Second, nil
}

// readVersion reads a file of at most limit bytes. It makes only four system calls, because a send
// and a hook read many small files.
func (d *Dir) readVersion(name string, limit int64) ([]byte, Version, error) {
	h, _, err := d.openHandle(name, os.O_RDONLY)
	if err != nil {
		return nil, Version{}, err
	}
	defer h.Close()
	data, err := readAll(h, h.Size(), limit, nil)
	return data, h.was, d.fail("read", name, err)
}

// OpenHandle is Open, but returns a Handle instead of an *os.File.
func (d *Dir) OpenHandle(name string, flag int) (*Handle, error) {
	h, _, err := d.openHandle(name, flag)
	return h, err
}

func (d *Dir) openHandle(name string, flag int) (h *Handle, st unix.Stat_t, err error) {
	if err := component(name); err != nil {
		return nil, st, err
	}
	fd, err := d.descriptor(name, flag|syscall.O_NONBLOCK) // see Open
	if err != nil {
		return nil, st, d.fail("open", name, err)
	}
	err = retry(func() error { return unix.Fstat(fd, &st) })
	if err == nil && (st.Mode&unix.S_IFMT != unix.S_IFREG || int(st.Uid) != d.uid) {
		err = notOurs(uint32(st.Mode), int(st.Uid), d.uid)
	}
	if err != nil {
		unix.Close(fd)
		return nil, st, d.fail("open", name, err)
	}
	h = newHandle(fd, d.path, name)
	h.was = Version{st.Ino, st.Size, st.Mtim.Nano()}
	return h, st, nil
}

// Version returns the version of the file that has this name now. It does not open the file.
func (d *Dir) Version(name string) (Version, error) {
	if err := component(name); err != nil {
		return Version{}, err
	}
	var st unix.Stat_t
	if err := unix.Fstatat(d.fd(), name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return Version{}, d.fail("stat", name, err)
	}
	return Version{st.Ino, st.Size, st.Mtim.Nano()}, nil
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

// Stat describes a file without following a link. It needs no permission to read the file.
func (d *Dir) Stat(name string) (fs.FileInfo, error) {
	if err := component(name); err != nil {
		return nil, err
	}
	f, err := d.openBeneath(name, lookOnly)
	if err != nil {
		if info := d.describe(name, err); info != nil {
			return info, nil
		}
		return nil, d.fail("stat", name, err)
	}
	defer f.Close()
	return f.Stat()
}

// IsFile reports whether name is still a name of the open file f. The number of links of f does not
// show this, because a backup may be one of the links.
func (d *Dir) IsFile(name string, f interface{ Fd() uintptr }) (bool, error) {
	if err := component(name); err != nil {
		return false, err
	}
	var was, now unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &was); err != nil {
		return false, d.fail("stat", name, err)
	}
	err := unix.Fstatat(d.fd(), name, &now, unix.AT_SYMLINK_NOFOLLOW)
	if err == unix.ENOENT {
		return false, nil
	}
	return err == nil && was.Dev == now.Dev && was.Ino == now.Ino, d.fail("stat", name, err)
}

// The method change checks the name, and then makes the change by calling the function call. It
// adds verb and name to the error of the call.
func (d *beneath) change(verb, name string, call func() error) error {
	if err := component(name); err != nil {
		return err
	}
	return d.fail(verb, name, call())
}

// TimeOf returns the time of a file's last change, and the file's size. It makes one system call.
func (d *Dir) TimeOf(name string) (changed time.Time, size int64, err error) {
	var st unix.Stat_t
	err = d.change("stat", name, func() error { return unix.Fstatat(d.fd(), name, &st, unix.AT_SYMLINK_NOFOLLOW) })
	if err != nil {
		return time.Time{}, 0, err
	}
	return time.Unix(st.Mtim.Unix()), st.Size, nil
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
