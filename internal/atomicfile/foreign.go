package atomicfile

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// foreign stands in the names of Rewrite's temporary files at the place of the file's own name.
// Other programs name their temporary files as Write does, and Sweep must not remove those.
const foreign = ".c2c"

// Rewrite is Write for another program's file, in a directory that need not be private. It sets the
// file's mode. It keeps the owner, because after c2c ran as root the user must still be able to
// write the file. The file must not be a symbolic link.
//
// Rewrite calls check when the new content is synced, right before it replaces the file. If the
// other program has changed the file meanwhile, check must return an error: then the file stays,
// and Rewrite returns the error.
func Rewrite(path string, data []byte, mode fs.FileMode, check func() error) error {
	d, err := openDir(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer d.Close()
	var refused error
	err = d.replace(filepath.Base(path), TempName(foreign), data, func(f *Handle) error {
		old, err := os.Stat(path)
		if err == nil {
			st := old.Sys().(*syscall.Stat_t)
			err = unix.Fchown(int(f.Fd()), int(st.Uid), int(st.Gid))
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // a new file is ours
			return err
		}
		if err := unix.Fchmod(int(f.Fd()), uint32(mode.Perm())); err != nil {
			return err
		}
		if err := f.sync(); err != nil {
			return err
		}
		refused = check()
		return refused
	})
	return cmp.Or(refused, err)
}

// Remove deletes another program's file, and syncs its directory.
func Remove(path string) error {
	d, err := openDir(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer d.Close()
	return errors.Join(d.Remove(filepath.Base(path)), d.Sync())
}

// Sweep removes the temporary files that processes have left beside a file when they died in
// Rewrite.
func Sweep(path string) {
	if d, err := openDir(filepath.Dir(path)); err == nil {
		d.sweep(foreign)
		d.Close()
	}
}

func openDir(dir string) (*Dir, error) {
	fd := -1
	err := retry(func() (err error) {
		fd, err = unix.Open(dir, os.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("open directory %q: %w", dir, err)
	}
	return &Dir{h: newHandle(fd, dir, ""), path: dir, uid: os.Geteuid()}, nil
}

// OpenForeign opens another program's file for reading, and returns its size. It opens only a
// regular file: if there is a pipe in its place, a read would wait for a writer.
func OpenForeign(path string) (f *os.File, size int64, err error) {
	f, err = os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("read %s: not a regular file", path)
	}
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}

// ReadForeign returns the content of another program's file. It returns an error if the file has
// more than limit bytes.
func ReadForeign(path string, limit int64) ([]byte, error) {
	f, size, err := OpenForeign(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if size > limit {
		return nil, fmt.Errorf("read %s: it has %d bytes, and c2c reads at most %d", path, size, limit)
	}
	return io.ReadAll(io.LimitReader(f, limit))
}

// ShutsOut returns an error if we are root and the directory parent belongs to another user, as
// under `sudo` with that user's HOME. The user could not use a directory that root makes there.
func ShutsOut(parent string) error {
	info, err := os.Stat(parent)
	if err != nil || os.Geteuid() != 0 {
		return err
	}
	if uid := info.Sys().(*syscall.Stat_t).Uid; uid != 0 {
		return fmt.Errorf("%w: %q belongs to uid %d, who could not use a file of root: run c2c as that user, or set HOME to a directory of root", ErrNotOurs, parent, uid)
	}
	return nil
}

// SyncDir makes the names in a directory durable.
func SyncDir(path string) error {
	d, err := openDir(path)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
