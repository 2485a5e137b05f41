package codex

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"c2c/broker/procstat"
)

// locksDir is where Codex holds a lock file for each thread that it has open:
// <CODEX_HOME>/thread-writer-locks/<thread>.lock.
const locksDir = "thread-writer-locks"

// openThreads are the threads that a Codex process has open. The process may
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

// processOf reads the open files of a process of ours; root sees those of others too. A lock file counts in the
// CODEX_HOME at home alone, since a program is run because of it, or anywhere when home is "".
func processOf(pid int, home string) process {
	p := process{pid: pid, threads: map[string]time.Time{}}
	info, err := os.Stat(fmt.Sprintf("/proc/%d", pid))
	if err != nil || int(info.Sys().(*syscall.Stat_t).Uid) != os.Geteuid() {
		return p
	}
	locks := resolved(filepath.Join(home, locksDir))
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
		case folder == locks, home == "" && filepath.Base(folder) == locksDir:
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
