package codex

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// OpenThreads are the threads that a Codex process has open: it holds a lock
// file for each, <CODEX_HOME>/thread-writer-locks/<thread>.lock. The process may
// also be the script that npm puts before it.
func OpenThreads(pid int) map[string]bool {
	open := openIn(pid)
	children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	for _, child := range strings.Fields(string(children)) {
		if pid, err := strconv.Atoi(child); err == nil {
			maps.Copy(open, openIn(pid))
		}
	}
	return open
}

func openIn(pid int) map[string]bool {
	open := map[string]bool{}
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return open // it is gone, or not ours to look into
	}
	for _, e := range entries {
		path, err := os.Readlink(filepath.Join(dir, e.Name()))
		if err != nil || filepath.Base(filepath.Dir(path)) != "thread-writer-locks" {
			continue
		}
		if thread, ok := strings.CutSuffix(filepath.Base(path), ".lock"); ok {
			open[thread] = true
		}
	}
	return open
}

// program is the binary of a process, and whether it is a `codex exec`, which ends with its answer.
func program(pid int) (path string, exec bool) {
	path = fmt.Sprintf("/proc/%d/exe", pid)
	args, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return "", false
	}
	for arg := range strings.SplitSeq(string(args), "\x00") {
		exec = exec || arg == "exec"
	}
	return path, exec
}
