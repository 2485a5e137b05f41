package proc

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// Owner returns the user of a process, and the kernel's name of its program. ok is false if the
// process has ended.
func Owner(pid int) (uid int, name string, ok bool) {
	info, err := os.Stat(fmt.Sprintf("/proc/%d/stat", pid)) // /proc/<pid> itself belongs to root if the process hides its memory
	data, nerr := ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil || nerr != nil {
		return 0, "", false
	}
	uid = int(info.Sys().(*syscall.Stat_t).Uid)
	for line := range strings.Lines(string(data)) {
		key, value, _ := strings.Cut(line, ":")
		switch f := strings.Fields(value); {
		case key == "Name":
			name = strings.TrimSpace(value)
		case key == "Uid" && len(f) > 0: // the real user id
			uid, _ = strconv.Atoi(f[0])
		}
	}
	return uid, name, true
}
