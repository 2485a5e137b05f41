//go:build !portable

package inotify

import (
	"bytes"
	"encoding/binary"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// Watch reports when writers close files. It makes the system calls itself, because the module
// fsnotify does not report IN_CLOSE_WRITE.
type Watch struct {
	f    *os.File
	done chan struct{}
	tell func(id int, name string)

	mu  sync.Mutex // held while events are read, so that Take waits for running calls of tell
	buf [4096]byte
}

// Open starts a watch. It returns nil if the system allows no more watches. For each event the
// watch calls the function tell: id is the number that Add has returned, and name is the name of
// the file if a directory is watched. If id is negative, events were lost, and any file may have
// changed. The function tell must not block.
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

// Take reads all events so far, and returns when tell was called for each of them.
func (in *Watch) Take() {
	in.mu.Lock()
	defer in.mu.Unlock()
	for {
		// The call of Fd does not make this descriptor blocking: Fd does so only for a file that
		// package os has opened.
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

// events calls tell for each event in b. The form of an event is struct inotify_event: wd, mask,
// cookie, len, name[len]
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

// Add watches a file, or all files in a directory, and returns the number that tell gets as the id
// of its events.
func (in *Watch) Add(file string) (id int, err error) {
	// IN_DELETE_SELF: if the root is removed, perhaps to be made anew, the caller learns it at once
	// and can check again.
	return unix.InotifyAddWatch(int(in.f.Fd()), file, unix.IN_CLOSE_WRITE|unix.IN_DELETE_SELF)
}

// AddRenamed is Add for a directory. The watch then also reports a name that was given to another
// file.
func (in *Watch) AddRenamed(dir string) (id int, err error) {
	return unix.InotifyAddWatch(int(in.f.Fd()), dir, unix.IN_CLOSE_WRITE|unix.IN_DELETE_SELF|unix.IN_MOVED_TO)
}

// Close ends the watch. After Close has returned, tell is not called any more.
func (in *Watch) Close() {
	in.f.Close()
	<-in.done
}
