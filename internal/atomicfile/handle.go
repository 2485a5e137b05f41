package atomicfile

import (
	"io"
	"io/fs"
	"path/filepath"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Handle is an open file that costs less than an *os.File. For an *os.File the runtime makes two
// more system calls, starts its poller, and sets a finalizer. This matters because a send opens a
// dozen files, each for a moment. A Handle has no finalizer, so if nobody closes it, it stays open
// until the process ends. After Close every call fails.
type Handle struct {
	Info                   // as the file was when it was opened
	fd        atomic.Int64 // -1: closed
	dir, name string
}

func newHandle(fd int, dir, name string) *Handle {
	h := &Handle{dir: dir, name: name}
	h.fd.Store(int64(fd))
	return h
}

// Fd returns the descriptor, for a system call.
func (h *Handle) Fd() uintptr { return uintptr(h.fd.Load()) }

// Name returns the path with which the file was opened.
func (h *Handle) Name() string { return filepath.Join(h.dir, h.name) }

// see sets Info. It returns an error unless the file is regular and belongs to the user uid.
func (h *Handle) see(uid int) error {
	var st unix.Stat_t
	if err := retry(func() error { return unix.Fstat(int(h.Fd()), &st) }); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG || int(st.Uid) != uid {
		return notOurs(uint32(st.Mode), int(st.Uid), uid)
	}
	h.Info = infoOf(&st)
	return nil
}

// SizeNow returns the size that the file has now.
func (h *Handle) SizeNow() (int64, error) {
	var st unix.Stat_t
	err := retry(func() error { return unix.Fstat(int(h.Fd()), &st) })
	return st.Size, h.fail("stat", err)
}

// Close closes the file. A second call only returns an error.
func (h *Handle) Close() error {
	fd := h.fd.Swap(-1)
	if fd < 0 {
		return h.fail("close", fs.ErrClosed)
	}
	return h.fail("close", unix.Close(int(fd)))
}

func (h *Handle) fail(verb string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: verb, Path: h.Name(), Err: err}
}

// mostAtOnce is the most bytes that one system call reads or writes, because macOS refuses 2 GB.
const mostAtOnce = 1 << 30

// Read continues where the previous Read has ended. If a signal interrupts it, it tries again.
func (h *Handle) Read(p []byte) (n int, err error) {
	return h.read(p, func(p []byte) (int, error) { return unix.Read(int(h.Fd()), p) })
}

// ReadAt fills p. If the file ends before p is full, it returns io.EOF.
func (h *Handle) ReadAt(p []byte, off int64) (done int, err error) {
	for done < len(p) && err == nil {
		n := 0
		n, err = h.read(p[done:], func(p []byte) (int, error) { return unix.Pread(int(h.Fd()), p, off+int64(done)) })
		done += n
	}
	return done, err
}

func (h *Handle) read(p []byte, call func([]byte) (int, error)) (n int, err error) {
	err = retry(func() error {
		n, err = call(p[:min(len(p), mostAtOnce)])
		return err
	})
	if n == 0 && err == nil && len(p) > 0 {
		return 0, io.EOF
	}
	return max(n, 0), h.fail("read", err)
}

// Write writes all of p, or returns an error.
func (h *Handle) Write(p []byte) (int, error) {
	return h.write(p, func(p []byte, _ int) (int, error) { return unix.Write(int(h.Fd()), p) })
}

// WriteAt is Write at an offset.
func (h *Handle) WriteAt(p []byte, off int64) (int, error) {
	return h.write(p, func(p []byte, done int) (int, error) { return unix.Pwrite(int(h.Fd()), p, off+int64(done)) })
}

func (h *Handle) write(p []byte, call func(p []byte, done int) (int, error)) (written int, err error) {
	for written < len(p) && err == nil {
		n := 0
		err = retry(func() error {
			n, err = call(p[written:min(len(p), written+mostAtOnce)], written)
			return err
		})
		if n == 0 && err == nil {
			err = io.ErrShortWrite
		}
		written += max(n, 0)
	}
	return written, h.fail("write", err)
}

// sync makes the written data durable.
func (h *Handle) sync() error {
	return h.fail("sync", retry(func() error { return syncFD(int(h.Fd())) }))
}
