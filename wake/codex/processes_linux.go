package codex

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"c2c/broker/procstat"
)

// openThreads are the threads that a Codex process has open: it holds a lock
// file for each, <CODEX_HOME>/thread-writer-locks/<thread>.lock. The process may
// also be the script that npm puts before it.
func openThreads(pid int) map[string]bool {
	open := map[string]bool{}
	add := func(pid int) {
		for thread := range processOf(pid, "").threads {
			open[thread] = true
		}
	}
	add(pid)
	children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	for _, child := range strings.Fields(string(children)) {
		if pid, err := strconv.Atoi(child); err == nil {
			add(pid)
		}
	}
	return open
}

// processes are those that have threads, or the databases of a CODEX_HOME, open.
func processes(home string) (all []process) {
	if real, err := filepath.EvalSymlinks(home); err == nil {
		home = real
	}
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

// processOf reads the open files of a process. Of another user's there are none to see.
func processOf(pid int, home string) process {
	p := process{pid: pid, threads: map[string]time.Time{}}
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		path, err := os.Readlink(filepath.Join(dir, e.Name()))
		if err != nil {
			continue
		}
		folder, file := filepath.Split(path)
		folder = filepath.Clean(folder)
		switch {
		case filepath.Base(folder) == "thread-writer-locks":
			if thread, ok := strings.CutSuffix(file, ".lock"); ok {
				info, err := os.Stat(filepath.Join(dir, e.Name()))
				if err == nil { // else it was closed meanwhile
					p.threads[thread] = info.ModTime()
				}
			}
		case folder == home && strings.HasSuffix(file, ".sqlite"):
			p.client = true
		case e.Name() == "0":
			p.terminal = strings.HasPrefix(path, "/dev/pts/") || strings.HasPrefix(path, "/dev/tty")
		}
	}
	if p.client || len(p.threads) > 0 {
		args, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		p.args = strings.Split(string(args), "\x00")
		p.age = ageOf(pid)
	}
	return p
}

// ageOf is how long a process runs; 0 when it has ended.
func ageOf(pid int) time.Duration {
	var boot unix.Timespec
	st, err := procstat.Read(pid)
	if err != nil || unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot) != nil {
		return 0
	}
	const tick = time.Second / 100 // USER_HZ, on every Linux
	return time.Duration(boot.Nano()) - time.Duration(st.Start)*tick
}
