// Package atomicfile keeps the files of a directory whole: a reader or a
// power cut sees the old content or the new, never half of one.
//
// A Dir is an open directory of ours. Every name given to it is a single path
// component, resolved beneath it and never through a symbolic link, so a peer
// that may write there cannot lead us elsewhere. Any number of goroutines and
// processes may use the same directory; a read-modify-write needs a lock
// beside it (package filelock).
package atomicfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ErrNotOurs is wrapped when a file or directory belongs to somebody else, may
// be written by others, or is not what its name promises.
var ErrNotOurs = errors.New("not a private file or directory of ours")

// ErrTooLarge is wrapped when a file is larger than any of ours can become. A
// planted one may be a hole, which takes nothing on the disk and all our memory.
var ErrTooLarge = errors.New("too large to be a file of ours")

// MaxFile is several times what the fullest mailbox takes.
const MaxFile = 512 << 20

// Dir is an open directory.
type Dir struct {
	f    *os.File
	path string
}

// Open opens a directory that belongs to us and that nobody else may write.
func Open(path string) (*Dir, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_DIRECTORY, 0)
	if err != nil {
		return nil, fmt.Errorf("open directory %q: %w", path, errors.Unwrap(err))
	}
	return private(f, path)
}

// Create is Open, after making the directory and its missing parents.
func Create(path string) (*Dir, error) {
	if d, err := Open(path); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return d, err
	}
	parent := filepath.Dir(path)
	if _, err := os.Stat(parent); errors.Is(err, fs.ErrNotExist) && parent != path {
		p, err := Create(parent)
		if err != nil {
			return nil, err
		}
		p.Close()
	}
	if err := ShutsOut(parent); err != nil {
		return nil, fmt.Errorf("make directory %q: %w", path, err)
	}
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("make directory %q: %w", path, errors.Unwrap(err))
	}
	if err := SyncDir(parent); err != nil {
		return nil, err
	}
	return Open(path)
}

// ShutsOut refuses a directory of root's in the directory of a user, as `sudo` with the user's HOME
// would make it: that user could not use it afterwards.
func ShutsOut(parent string) error {
	info, err := os.Stat(parent)
	if err != nil || os.Geteuid() != 0 {
		return err
	}
	if uid := info.Sys().(*syscall.Stat_t).Uid; uid != 0 {
		return fmt.Errorf("%w: %q belongs to uid %d, whom root's files there would shut out; run it as that user", ErrNotOurs, parent, uid)
	}
	return nil
}

// SyncDir makes the names in a directory durable.
func SyncDir(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("open directory %q: %w", path, errors.Unwrap(err))
	}
	defer f.Close()
	if err := f.Sync(); err != nil {
		return fmt.Errorf("sync directory %q: %w", path, err)
	}
	return nil
}

func private(f *os.File, path string) (*Dir, error) {
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("stat directory %q: %w", path, err)
	}
	st := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.IsDir():
		err = fmt.Errorf("open directory %q: %w: not a directory", path, ErrNotOurs)
	case int(st.Uid) != os.Geteuid():
		err = fmt.Errorf("open directory %q: %w: it belongs to uid %d", path, ErrNotOurs, st.Uid)
	case info.Mode().Perm()&0o022 != 0:
		err = fmt.Errorf("open directory %q: %w: others may write to it (mode %04o); choose another root, or run chmod go-w on it if it is yours alone",
			path, ErrNotOurs, info.Mode().Perm())
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return &Dir{f: f, path: path}, nil
}

// Path is the name that the directory was opened by.
func (d *Dir) Path() string { return d.path }

// Replaced says whether the directory was removed or made anew since it was opened.
func (d *Dir) Replaced() bool {
	was, err := d.f.Stat()
	if err != nil {
		return true
	}
	now, err := os.Stat(d.path)
	return err != nil || !os.SameFile(was, now)
}

// Close ends the use of the directory.
func (d *Dir) Close() error { return d.f.Close() }

// Sync makes renames, new names and removals in the directory survive a power cut.
func (d *Dir) Sync() error {
	if err := d.f.Sync(); err != nil {
		return fmt.Errorf("sync directory %q: %w", d.path, err)
	}
	return nil
}

// ValidName says whether s may name a session or a message: it must be safe as
// a part of a file name on every system. Two names never share a file, because
// a bad one is refused and not mended.
func ValidName(s string) bool {
	if len(s) == 0 || len(s) > 128 {
		return false
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		alnum := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !alnum && (i == 0 || c != '.' && c != '_' && c != '-') {
			return false
		}
	}
	return true
}

func component(name string) error {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00") {
		return fmt.Errorf("file name %q: not a single path component", name)
	}
	return nil
}

// fail names what failed. What the kernel says of a thing that is no file, or
// no directory, of ours is ErrNotOurs, as when our own look at it finds that.
func (d *Dir) fail(verb, name string, err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	switch err {
	case syscall.ELOOP:
		err = fmt.Errorf("%w: a symbolic link", ErrNotOurs)
	case syscall.EISDIR, syscall.ENOTDIR: // the latter also for a link where a directory belongs
		err = fmt.Errorf("%w: %w", ErrNotOurs, err)
	case syscall.ENXIO: // of a FIFO that nobody reads, and of a socket
		err = fmt.Errorf("%w: a FIFO or a socket", ErrNotOurs)
	}
	return fmt.Errorf("%s %q: %w", verb, filepath.Join(d.path, name), err)
}

// Sub opens the directory name, and makes it first when create says so.
func (d *Dir) Sub(name string, create bool) (*Dir, error) {
	if err := component(name); err != nil {
		return nil, err
	}
	flags := os.O_RDONLY | syscall.O_DIRECTORY
	f, err := openBeneath(d.f, name, flags, 0)
	if errors.Is(err, fs.ErrNotExist) && create {
		if err := mkdirat(d.f, name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, d.fail("make directory", name, err)
		}
		if err := d.Sync(); err != nil {
			return nil, err
		}
		f, err = openBeneath(d.f, name, flags, 0)
	}
	if err != nil {
		return nil, d.fail("open directory", name, err)
	}
	return private(f, filepath.Join(d.path, name))
}

// Open opens a regular file of ours. With os.O_CREATE a missing one is made,
// readable by us alone. It may have other names: a backup is often made of hard
// links, and nobody but us can link anything into a directory of ours.
func (d *Dir) Open(name string, flag int) (*os.File, error) {
	if err := component(name); err != nil {
		return nil, err
	}
	// O_NONBLOCK: a planted FIFO must not block us; it has no effect on files.
	f, err := openBeneath(d.f, name, flag|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, d.fail("open", name, err)
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, d.fail("stat", name, err)
	}
	st := info.Sys().(*syscall.Stat_t)
	if !info.Mode().IsRegular() || int(st.Uid) != os.Geteuid() {
		f.Close()
		return nil, d.fail("open", name, fmt.Errorf("%w: mode %s, uid %d", ErrNotOurs, info.Mode(), st.Uid))
	}
	return f, nil
}

// Read returns the whole file; the error is fs.ErrNotExist when there is none.
func (d *Dir) Read(name string) ([]byte, error) {
	f, err := d.Open(name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := ReadAll(f)
	if err != nil {
		return nil, d.fail("read", name, err)
	}
	return data, nil
}

// ReadAll reads the rest of an open file, unless it is too large.
func ReadAll(f *os.File) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > MaxFile {
		return nil, fmt.Errorf("%w: %d bytes", ErrTooLarge, info.Size())
	}
	var data bytes.Buffer
	data.Grow(int(info.Size()) + bytes.MinRead)
	_, err = data.ReadFrom(io.LimitReader(f, MaxFile+1))
	if err == nil && data.Len() > MaxFile {
		return nil, ErrTooLarge // it grows
	}
	return data.Bytes(), err
}

// Write replaces the file. When it returns nil, the new content survives a
// power cut; otherwise the old content is still there. Any number may write at
// once; the last one wins. What writers of the file that died left behind goes
// away.
func (d *Dir) Write(name string, data []byte) error {
	err := d.replace(name, TempName(name), data, nil)
	if err == nil {
		d.sweep(name)
	}
	return err
}

// TempName names the new content of a file by the process that writes it.
func TempName(name string) string {
	return name + tempMark + strconv.Itoa(os.Getpid()) + "." + strconv.FormatInt(time.Now().UnixNano(), 36)
}

// sweep removes what writers of the file that died left behind.
func (d *Dir) sweep(name string) {
	names, _ := d.Names()
	for _, left := range names {
		rest, ours := strings.CutPrefix(left, name+tempMark)
		pid, _, _ := strings.Cut(rest, ".")
		// A process of another container looks dead too: its write fails then, and harms nothing.
		if n, err := strconv.Atoi(pid); ours && err == nil && n > 0 && errors.Is(syscall.Kill(n, 0), syscall.ESRCH) {
			unlinkat(d.f, left)
		}
	}
}

// Replace is Write for a caller that holds the lock of the file. What a writer
// that died there left behind goes away with it.
func (d *Dir) Replace(name string, data []byte) error {
	tmp := name + tempMark + "c2c"
	err := d.replace(name, tmp, data, nil)
	if errors.Is(err, fs.ErrExist) {
		if err := d.Remove(tmp); err != nil {
			return err
		}
		err = d.replace(name, tmp, data, nil)
	}
	return err
}

// tempMark stands between a file's name and the rest of the name of its new
// content, as in the temporary files of the original.
const tempMark = ".tmp."

// replace writes tmp, which prepare may change before it is synced, and gives it the name.
func (d *Dir) replace(name, tmp string, data []byte, prepare func(*os.File) error) error {
	if err := component(name); err != nil {
		return err
	}
	f, err := openBeneath(d.f, tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return d.fail("write", name, err)
	}
	_, err = f.Write(data)
	if err == nil && prepare != nil {
		err = prepare(f)
	}
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = renameat(d.f, tmp, d.f, name)
	}
	if err != nil {
		unlinkat(d.f, tmp)
		return d.fail("write", name, err)
	}
	return d.Sync()
}

// IsTemp says whether name is the new content of some file, not yet in place.
// One that is there while its lock is held was left by a process that died.
func IsTemp(name string) bool { return strings.Contains(name, tempMark) }

// Append adds data to the end of the file and syncs it. The caller holds the
// lock. What a failed call wrote is cut off again, so that nothing is half
// written on a full disk.
func (d *Dir) Append(name string, data []byte) error {
	f, err := d.openAlone(name, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return err
	}
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		f.Close()
		return d.fail("append to", name, err)
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		f.Truncate(size)
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return d.fail("append to", name, err)
	}
	if size == 0 {
		return d.Sync()
	}
	return nil
}

// Log adds a line to the end of a file that a power cut may shorten.
func (d *Dir) Log(name string, line []byte) error {
	f, err := d.openAlone(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND)
	if err != nil {
		return err
	}
	_, err = f.Write(line)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return d.fail("append to", name, err)
	}
	return nil
}

// openAlone opens a file to write into it. One that has other names becomes a
// copy first: what is written must not change a backup.
func (d *Dir) openAlone(name string, flag int) (*os.File, error) {
	f, err := d.Open(name, flag)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Sys().(*syscall.Stat_t).Nlink <= 1 {
		return f, nil
	}
	f.Close()
	if err != nil {
		return nil, d.fail("stat", name, err)
	}
	data, err := d.Read(name)
	if err == nil {
		err = d.Write(name, data)
	}
	if err != nil {
		return nil, err
	}
	return d.Open(name, flag)
}

// Touch sets the time at which a file was changed last.
func (d *Dir) Touch(name string, at time.Time) error {
	if err := component(name); err != nil {
		return err
	}
	if err := utimensat(d.f, name, at); err != nil {
		return d.fail("touch", name, err)
	}
	return nil
}

// Rename moves a file within the directory. It lasts after the next Sync.
func (d *Dir) Rename(old, new string) error { return d.Move(old, d, new) }

// Move moves a file to another directory of the same file system.
func (d *Dir) Move(old string, to *Dir, new string) error {
	if err := errors.Join(component(old), component(new)); err != nil {
		return err
	}
	if err := renameat(d.f, old, to.f, new); err != nil {
		return d.fail("rename", old, err)
	}
	return nil
}

// Link gives a file another name, in a directory of the same file system. It lasts after the next Sync.
func (d *Dir) Link(old string, to *Dir, new string) error {
	if err := errors.Join(component(old), component(new)); err != nil {
		return err
	}
	if err := unix.Linkat(int(d.f.Fd()), old, int(to.f.Fd()), new, 0); err != nil {
		return d.fail("link", old, err)
	}
	return nil
}

// Remove deletes a file. It lasts after the next Sync.
func (d *Dir) Remove(name string) error {
	if err := component(name); err != nil {
		return err
	}
	if err := unlinkat(d.f, name); err != nil {
		return d.fail("remove", name, err)
	}
	return nil
}

// RemoveDir deletes an empty directory. It lasts after the next Sync.
func (d *Dir) RemoveDir(name string) error {
	if err := component(name); err != nil {
		return err
	}
	if err := rmdirat(d.f, name); err != nil {
		return d.fail("remove directory", name, err)
	}
	return nil
}

// Names lists what is in the directory, in no order.
func (d *Dir) Names() ([]string, error) {
	f, err := openBeneath(d.f, ".", os.O_RDONLY|syscall.O_DIRECTORY, 0)
	if err != nil {
		return nil, d.fail("list", "", err)
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	if err != nil {
		return nil, d.fail("list", "", err)
	}
	return names, nil
}

// Stat describes a name without following a link. It needs no right to read the file.
func (d *Dir) Stat(name string) (fs.FileInfo, error) {
	if err := component(name); err != nil {
		return nil, err
	}
	f, err := openBeneath(d.f, name, lookOnly, 0)
	if err != nil {
		return nil, d.fail("stat", name, err)
	}
	defer f.Close()
	return f.Stat()
}

// IsFile says whether a name is still that of an open file. The number of its links does not tell: a backup may
// be one more.
func (d *Dir) IsFile(name string, f *os.File) (bool, error) {
	was, err := f.Stat()
	if err != nil {
		return false, err
	}
	now, err := d.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(was, now), err
}
