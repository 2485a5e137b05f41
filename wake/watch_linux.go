package wake

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// watch uses inotify itself: fsnotify has no IN_CLOSE_WRITE.
func watch(lockFile string) (<-chan struct{}, func(), time.Duration) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return noWatch() // 128 instances per user are soon used up
	}
	f := os.NewFile(uintptr(fd), "inotify")
	if _, err := unix.InotifyAddWatch(fd, lockFile, unix.IN_CLOSE_WRITE); err != nil {
		f.Close()
		return noWatch()
	}
	changed := make(chan struct{}, 1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 4096)
		for {
			if _, err := f.Read(buf); err != nil {
				return
			}
			select {
			case changed <- struct{}{}:
			default:
			}
		}
	}()
	return changed, func() { f.Close(); <-done }, recheck
}
