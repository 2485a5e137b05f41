//go:build !portable

package atomicfile

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// holder returns the end of an error, which names a process that holds the lock: ": process 123
// (c2c)". It returns "" if it finds no such process. For locks of this kind the kernel shows no
// process id, but it shows which descriptors have such a lock.
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
