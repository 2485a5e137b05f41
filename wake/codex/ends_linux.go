//go:build !portable

package codex

import (
	"context"
	"os"

	"golang.org/x/sys/unix"
)

// untilOneEnds returns when one of the processes or ctx has ended.
func untilOneEnds(ctx context.Context, pids []int) {
	over, end, err := os.Pipe()
	if err != nil {
		<-ctx.Done()
		return
	}
	defer over.Close()
	defer end.Close()
	defer context.AfterFunc(ctx, func() { end.Close() })()
	wait := []unix.PollFd{{Fd: int32(over.Fd()), Events: unix.POLLIN}}
	for _, pid := range pids {
		fd, err := unix.PidfdOpen(pid, 0)
		if err == unix.ESRCH {
			return
		}
		if err == nil { // an older kernel has no such descriptor; then only the end of ctx ends the wait
			defer unix.Close(fd)
			wait = append(wait, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
		}
	}
	for _, err = unix.Poll(wait, -1); err == unix.EINTR; {
		_, err = unix.Poll(wait, -1)
	}
}
