package inotify

import (
	"bytes"
	"encoding/binary"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// Watch reports when writers close files. It uses the system call itself, because fsnotify has no IN_CLOSE_WRITE.
type Watch struct {
	f    *os.File
	done chan struct{}
	tell func(id int, name string)

	mu  sync.Mutex // held while reading, so that Take waits for running calls of tell
	buf [4096]byte
}

// Open starts a watch. It returns nil if the system allows no more watches. It calls tell for each event, with the number that Add
// returned and, for a directory, the file's name. A negative number means an overflow: anything may have changed. tell must not block.
func Open(tell func(id int, name string)) *Watch {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil // Linux allows only 128 instances per user by default
	}
	in := &Watch{f: os.NewFile(uintptr(fd), "inotify"), done: make(chan struct{}), tell: tell}
	raw, err := in.f.SyscallConn()
	if err != nil {
		in.f.Close()
		return nil
	}
	go func() {
		defer close(in.done)
		raw.Read(func(uintptr) (done bool) { // ends when the file is closed
			in.Take()
			return false
		})
	}()
	return in
}

// Take returns once tell was called for all events so far.
func (in *Watch) Take() {
	in.mu.Lock()
	defer in.mu.Unlock()
	for {
		// Fd does not make this descriptor blocking: it does so only for files that package os has opened.
		n, err := unix.Read(int(in.f.Fd()), in.buf[:])
		if err == unix.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			return
		}
		in.events(in.buf[:n])
	}
}

// events parses a buffer. struct inotify_event: wd, mask, cookie, len, name[len]
func (in *Watch) events(b []byte) {
	for len(b) >= unix.SizeofInotifyEvent {
		wd, mask := int32(binary.NativeEndian.Uint32(b)), binary.NativeEndian.Uint32(b[4:])
		if mask&unix.IN_Q_OVERFLOW != 0 {
			wd = -1
		}
		end := min(len(b), unix.SizeofInotifyEvent+int(binary.NativeEndian.Uint32(b[12:])))
		name, _, _ := bytes.Cut(b[unix.SizeofInotifyEvent:end], []byte{0})
		in.tell(int(wd), string(name))
		b = b[end:]
	}
}

// Add watches a file, or all files in a directory, and returns the number that its events carry.
func (in *Watch) Add(file string) (id int, err error) {
	// IN_DELETE_SELF: the root may be removed and made anew, and then the next check must not wait for long.
	return unix.InotifyAddWatch(int(in.f.Fd()), file, unix.IN_CLOSE_WRITE|unix.IN_DELETE_SELF)
}

// AddTimes is Add for a directory that also reports files whose time was set.
func (in *Watch) AddTimes(dir string) (id int, err error) {
	return unix.InotifyAddWatch(int(in.f.Fd()), dir, unix.IN_CLOSE_WRITE|unix.IN_DELETE_SELF|unix.IN_ATTRIB)
}

// Close ends the watch. After it, tell is not called.
func (in *Watch) Close() {
	in.f.Close()
	<-in.done
}
