package codex

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// OpenThreads are the threads that a Codex process has open: it holds a lock
// file for each, <CODEX_HOME>/thread-writer-locks/<thread>.lock. The process may
// also be the script that npm puts before it.
func OpenThreads(pid int) map[string]bool {
	open := processOf(pid, "").threads
	children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	for _, child := range strings.Fields(string(children)) {
		if pid, err := strconv.Atoi(child); err == nil {
			maps.Copy(open, processOf(pid, "").threads)
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
	p := process{pid: pid, threads: map[string]bool{}}
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
				p.threads[thread] = true
			}
		case folder == home && strings.HasSuffix(file, ".sqlite"):
			p.client = true
		case e.Name() == "0":
			p.terminal = strings.HasPrefix(path, "/dev/pts/") || strings.HasPrefix(path, "/dev/tty")
		}
	}
	if len(p.threads) > 0 {
		args, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		p.exec = slices.Contains(strings.Split(string(args), "\x00"), "exec")
	}
	return p
}
