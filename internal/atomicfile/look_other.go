//go:build !linux || portable

package atomicfile

import (
	"io/fs"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// lookOnly has the flags with which a file, also a FIFO, is opened only to describe it.
const lookOnly = unix.O_RDONLY | unix.O_NONBLOCK

// describe describes a file that lookOnly cannot open: a symbolic link, a socket, or a file that this
// user may not read. It returns nil if something else was the reason. The description is not for
// os.SameFile.
func (d *Dir) describe(name string, why error) fs.FileInfo {
	var st unix.Stat_t
	refused := []error{unix.ELOOP, unix.ENXIO, unix.EOPNOTSUPP, unix.EACCES}
	if !slices.Contains(refused, why) || unix.Fstatat(d.fd(), name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return nil
	}
	kind := map[uint32]fs.FileMode{unix.S_IFREG: 0, unix.S_IFDIR: fs.ModeDir, unix.S_IFLNK: fs.ModeSymlink, unix.S_IFSOCK: fs.ModeSocket}
	mode, known := kind[uint32(st.Mode)&unix.S_IFMT]
	if !known {
		mode = fs.ModeIrregular
	}
	return described{name, st, mode | fs.FileMode(st.Mode)&fs.ModePerm}
}

// described implements fs.FileInfo.
type described struct {
	name string
	st   unix.Stat_t
	mode fs.FileMode
}

func (f described) Name() string       { return f.name }
func (f described) Size() int64        { return f.st.Size }
func (f described) Mode() fs.FileMode  { return f.mode }
func (f described) ModTime() time.Time { return time.Unix(f.st.Mtim.Unix()) }
func (f described) IsDir() bool        { return f.mode.IsDir() }
func (f described) Sys() any           { return &f.st }

// HasName reports whether an entry has exactly this name. Most file systems of macOS also find the
// entry by a name in another case.
func (d *Dir) HasName(name string) bool {
	names, err := d.Names()
	return err != nil || slices.Contains(names, name)
}

// namesIn lists an open directory. It uses package os, because on macOS unix.ReadDirent
// rereads the directory for each block.
func namesIn(fd int) ([]string, error) {
	second, err := unix.Openat(fd, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(second), ".")
	defer f.Close()
	return f.Readdirnames(-1)
}
