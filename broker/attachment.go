package broker

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"c2c/inbox/mail"
)

// maxAttachment is the maximum size of an attached file, in bytes. It is limited because c2c reads
// the whole file to make its hash.
const maxAttachment = 50 << 20

// FileOf describes a file of this user by its path, size and hash, for a message to a sender
// outside (c2c senders). c2c does not send the content. The path must be absolute; FileOf follows
// symbolic links in it. The file must be a regular file on a disk.
func FileOf(path string) (mail.File, error) {
	fail := func(err error) (mail.File, error) { return mail.File{}, fmt.Errorf("attach %q: %w", path, err) }
	if !filepath.IsAbs(path) {
		return fail(errors.New("the path must be absolute"))
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return fail(pathCause(err))
	}
	// O_NONBLOCK: if the path is a pipe now, opening it must not wait for a writer.
	f, err := os.OpenFile(real, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return fail(pathCause(err))
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fail(pathCause(err))
	}
	if err := checkAttachment(f, info); err != nil {
		return fail(err)
	}
	sum := sha256.New()
	n, err := io.Copy(sum, io.LimitReader(f, info.Size()+1))
	if err != nil {
		return fail(pathCause(err))
	}
	if after, err := f.Stat(); err != nil || n != info.Size() || after.Size() != n || !after.ModTime().Equal(info.ModTime()) {
		return fail(errors.New("it is being written; attach it when it is complete"))
	}
	return mail.File{Path: real, Size: n, SHA256: fmt.Sprintf("%x", sum.Sum(nil))}, nil
}

// checkAttachment accepts only a file of this user on a disk. A file that the kernel makes, such as
// one in /proc, may have the secrets of a process.
func checkAttachment(f *os.File, info os.FileInfo) error {
	var stat unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &stat); err != nil {
		return err
	}
	switch {
	case !info.Mode().IsRegular():
		return errors.New("it is not a regular file")
	case int(stat.Uid) != os.Geteuid():
		return errors.New("it belongs to another user")
	case info.Size() > maxAttachment:
		return fmt.Errorf("it has %d bytes; at most %d are allowed", info.Size(), maxAttachment)
	case isFromKernel(f):
		return errors.New("it is not a file on a disk")
	}
	return nil
}

// pathCause returns the cause of err without the path, because the caller's error names the path
// already.
func pathCause(err error) error {
	if wrapped := new(os.PathError); errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}
