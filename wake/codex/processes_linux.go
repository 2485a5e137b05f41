package codex

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"c2c/client"
	"c2c/internal/proc"
)

// processes returns the processes that have files in home, a CODEX_HOME, open: the locks of
// threads, databases or the lock of a program.
func processes(home string) (all []process) {
	home = resolved(home)
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			if p := processOf(pid, home); p.client || len(p.threads) > 0 {
				all = append(all, p)
			}
		}
	}
	return all
}

func resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// processOf reads the open files of a process of this user. Each process of Codex keeps a lock
// below tmp open as long as it runs. But it closes a database that it has not used for ten minutes
// (0.169.0). Only files in home count, because c2c later runs the program of the process that has a
// thread's lock file open.
func processOf(pid int, home string) process {
	p := process{pid: pid, threads: map[string]time.Time{}}
	locks := resolved(filepath.Join(home, client.CodexLocks))
	files, _ := proc.Files(pid)
	for link, path := range files {
		folder, file := filepath.Split(path)
		folder = filepath.Clean(folder)
		switch {
		case folder == locks:
			if thread, ok := strings.CutSuffix(file, ".lock"); ok {
				if info, err := os.Stat(link); err == nil { // an error means that the process has closed the file meanwhile
					p.threads[thread] = info.ModTime()
				}
			}
		case folder == home && strings.HasSuffix(file, ".sqlite"), file == ".lock" && strings.HasPrefix(folder, filepath.Join(home, "tmp")+"/"):
			p.client = true
		case filepath.Base(link) == "0":
			p.terminal = strings.HasPrefix(path, "/dev/pts/") || strings.HasPrefix(path, "/dev/tty")
		}
	}
	if p.client || len(p.threads) > 0 {
		args, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		p.args = strings.Split(string(args), "\x00")
		p.began = time.Now().Add(-ageOf(pid))
	}
	return p
}

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

// ageOf returns how long a process has run; 0 if it has ended.
func ageOf(pid int) time.Duration {
	var boot unix.Timespec
	st, err := proc.Read(pid)
	if err != nil || unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot) != nil {
		return 0
	}
	const tick = time.Second / 100 // USER_HZ, on every Linux
	return time.Duration(boot.Nano()) - time.Duration(st.Start)*tick
}
