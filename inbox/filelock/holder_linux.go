package filelock

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// holder names a process that holds the lock, for the end of an error: ": process 123 (c2c)", or "" if it finds none. For these
// locks the kernel shows no process id, but it shows which descriptors hold them.
func holder(path string) string {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return ""
	}
	fds, err := filepath.Glob("/proc/[0-9]*/fd/*")
	if err != nil {
		return ""
	}
	for _, fd := range fds {
		if target, err := os.Readlink(fd); err != nil || target != real {
			continue
		}
		info, err := os.ReadFile(strings.Replace(fd, "/fd/", "/fdinfo/", 1))
		if err != nil || !bytes.Contains(info, []byte("lock:")) {
			continue
		}
		pid := strings.Split(fd, "/")[2]
		name, _ := os.ReadFile("/proc/" + pid + "/comm")
		return fmt.Sprintf(": process %s (%s)", pid, strings.TrimSpace(string(name)))
	}
	return ""
}
