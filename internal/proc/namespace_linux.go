//go:build !portable

package proc

import (
	"fmt"
	"io"
	"os"
)

// Namespace returns the PID namespace of a process, 0 for this process; "" if c2c may not see it, and
// on a system without namespaces.
func Namespace(pid int) string {
	name, _ := os.Readlink(dirOf(pid) + "/ns/pid")
	return name
}

// TCPTable opens a table, "tcp" or "tcp6", of the sockets of a process's network namespace, 0 for
// this process. Its error is errors.ErrUnsupported if the system has no such table.
func TCPTable(pid int, name string) (io.ReadCloser, error) {
	return os.Open(dirOf(pid) + "/net/" + name)
}

func dirOf(pid int) string {
	if pid == 0 {
		return "/proc/self" // in a sandbox our own id may be that of another process
	}
	return fmt.Sprintf("/proc/%d", pid)
}
