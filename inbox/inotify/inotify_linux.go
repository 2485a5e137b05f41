package inotify

import (
	"bytes"
	"encoding/binary"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// Watch tells when files are closed by their writers. The kernel is asked itself: fsnotify has no IN_CLOSE_WRITE.
type Watch struct {
	f    *os.File
	done chan struct{}
	tell func(id int, name string)

	mu  sync.Mutex // held while reading, so that Take returns when all was told
	buf [4096]byte
}

// Open begins to watch; nil: the system has no watch left. tell is told of an event: the number that Add gave and, in a
// directory, the name of the file. A negative number is everything, after an overflow. tell must not block.
func Open(tell func(id int, name string)) *Watch {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil // 128 instances per user are soon used up
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

// Take returns when all that has happened until now was told.
func (in *Watch) Take() {
	in.mu.Lock()
	defer in.mu.Unlock()
	for {
		// Fd leaves the descriptor as it is: it makes only those block that package os has opened.
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

// events takes a buffer apart. struct inotify_event: wd, mask, cookie, len, name[len]
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

// Add watches a file, or all that are in a directory, and returns the number that its events carry.
func (in *Watch) Add(file string) (id int, err error) {
	// IN_DELETE_SELF: the root may be made anew, and then the next look must not wait for long.
	return unix.InotifyAddWatch(int(in.f.Fd()), file, unix.IN_CLOSE_WRITE|unix.IN_DELETE_SELF)
}

// AddTimes is Add for a directory, and tells of files whose time was set, too.
func (in *Watch) AddTimes(dir string) (id int, err error) {
	return unix.InotifyAddWatch(int(in.f.Fd()), dir, unix.IN_CLOSE_WRITE|unix.IN_DELETE_SELF|unix.IN_ATTRIB)
}

// Close ends the watch. Nothing is told behind it.
func (in *Watch) Close() {
	in.f.Close()
	<-in.done
}
