package watch

import (
	"encoding/binary"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// recheck is the longest that a lost event can delay a message.
const recheck = time.Minute

// inotify is used itself: fsnotify has no IN_CLOSE_WRITE.
type inotify struct {
	f    *os.File
	done chan struct{}
}

func newSource(notify func(id int)) source {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil // 128 instances per user are soon used up
	}
	in := &inotify{os.NewFile(uintptr(fd), "inotify"), make(chan struct{})}
	go in.read(notify)
	return in
}

func (in *inotify) read(notify func(id int)) {
	defer close(in.done)
	buf := make([]byte, 4096)
	for {
		n, err := in.f.Read(buf)
		if err != nil {
			return
		}
		// struct inotify_event: wd, mask, cookie, len, name[len]
		for b := buf[:n]; len(b) >= unix.SizeofInotifyEvent; {
			wd, mask := int32(binary.NativeEndian.Uint32(b)), binary.NativeEndian.Uint32(b[4:])
			if mask&unix.IN_Q_OVERFLOW != 0 {
				wd = -1
			}
			notify(int(wd))
			b = b[min(len(b), unix.SizeofInotifyEvent+int(binary.NativeEndian.Uint32(b[12:]))):]
		}
	}
}

func (in *inotify) add(file string) (id int, err error) {
	// IN_DELETE_SELF: the root may be made anew, and then the next look must not wait for long.
	// Fd leaves the descriptor as it is: it makes only those block that package os has opened.
	return unix.InotifyAddWatch(int(in.f.Fd()), file, unix.IN_CLOSE_WRITE|unix.IN_DELETE_SELF)
}

func (in *inotify) close() {
	in.f.Close()
	<-in.done
}
