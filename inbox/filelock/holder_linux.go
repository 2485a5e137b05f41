package filelock

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// holder names a process that has a lock on the file, for a person who wonders
// why nothing moves: ": process 123 (c2c)", or "" when it cannot be known. The
// kernel tells no process id for these locks, but which descriptors have one.
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
