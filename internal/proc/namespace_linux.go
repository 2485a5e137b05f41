//go:build !portable

package proc

import (
	"fmt"
	"iter"
	"os"
)

// Namespace returns the PID namespace of a process, 0 for this process; "" if c2c may not see it, and
// on a system without namespaces.
func Namespace(pid int) string {
	name, _ := os.Readlink(dirOf(pid) + "/ns/pid")
	return name
}

// AllSockets reports whether TCPSockets shows the sockets of all users.
const AllSockets = true

// TCPSockets yields the sockets in the network namespace of a process, 0 for this process, that have
// this local port.
func TCPSockets(pid, port int) iter.Seq[TCPSocket] { return tables(dirOf(pid), port) }

func dirOf(pid int) string {
	if pid == 0 {
		return "/proc/self" // in a sandbox our own id may be that of another process
	}
	return fmt.Sprintf("/proc/%d", pid)
}
