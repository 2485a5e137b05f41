package atomicfile

import (
	"io"
	"io/fs"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Handle is an open file as the kernel has it. A send opens a dozen, each for a moment: for an *os.File the runtime asks the
// kernel twice more, starts its poller, and remembers to close it. So whoever opens a Handle closes it, or it stays open.
// Behind Close each call fails.
type Handle struct {
	fd   atomic.Int64 // -1: it is closed
	name string
	was  Version // when it was opened
}

func newHandle(fd int, name string) *Handle {
	h := &Handle{name: name}
	h.fd.Store(int64(fd))
	return h
}

// Fd is the descriptor, for a system call.
func (h *Handle) Fd() uintptr { return uintptr(h.fd.Load()) }

// Name is the path that the file was opened by.
func (h *Handle) Name() string { return h.name }

// Version is that of the file when it was opened.
func (h *Handle) Version() Version { return h.was }

// Size is how many bytes the file had when it was opened.
func (h *Handle) Size() int64 { return h.was.size }

// ModTime is when the file was changed last before it was opened.
func (h *Handle) ModTime() time.Time { return time.Unix(0, h.was.mtime) }

// SizeNow is how many bytes the file has by now.
func (h *Handle) SizeNow() (int64, error) {
	var st unix.Stat_t
	err := again(func() error { return unix.Fstat(int(h.Fd()), &st) })
	return st.Size, h.fail("stat", err)
}

// Close ends the use of the file. It is an error, and harmless, the second time.
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
	return &fs.PathError{Op: verb, Path: h.name, Err: err}
}

// mostAtOnce is what one system call takes everywhere: macOS refuses 2 GB.
const mostAtOnce = 1 << 30

// Read reads on from where the last Read has ended. It may be interrupted by a signal, and goes on then.
func (h *Handle) Read(p []byte) (n int, err error) {
	return h.read(p, func(p []byte) (int, error) { return unix.Read(int(h.Fd()), p) })
}

// ReadAt reads all of p, or to the end of the file: the error is io.EOF then.
func (h *Handle) ReadAt(p []byte, off int64) (done int, err error) {
	for done < len(p) && err == nil {
		n := 0
		n, err = h.read(p[done:], func(p []byte) (int, error) { return unix.Pread(int(h.Fd()), p, off+int64(done)) })
		done += n
	}
	return done, err
}

func (h *Handle) read(p []byte, call func([]byte) (int, error)) (n int, err error) {
	err = again(func() error {
		n, err = call(p[:min(len(p), mostAtOnce)])
		return err
	})
	if n == 0 && err == nil && len(p) > 0 {
		return 0, io.EOF
	}
	return max(n, 0), h.fail("read", err)
}

// Write writes all of p, or says why not.
func (h *Handle) Write(p []byte) (int, error) {
	return h.write(p, func(p []byte, _ int) (int, error) { return unix.Write(int(h.Fd()), p) })
}

// WriteAt is Write for a place in the file.
func (h *Handle) WriteAt(p []byte, off int64) (int, error) {
	return h.write(p, func(p []byte, done int) (int, error) { return unix.Pwrite(int(h.Fd()), p, off+int64(done)) })
}

func (h *Handle) write(p []byte, call func(p []byte, done int) (int, error)) (written int, err error) {
	for written < len(p) && err == nil {
		n := 0
		err = again(func() error {
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

// sync makes what was written survive a power cut.
func (h *Handle) sync() error {
	return h.fail("sync", again(func() error { return syncFD(int(h.Fd())) }))
}
