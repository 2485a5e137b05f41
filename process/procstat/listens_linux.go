package procstat

import (
	"fmt"
	"os"
)

// Listens says whether a process listens at a TCP port. It is false for a process of another user, which cannot be looked at.
func Listens(pid, port int) bool {
	listening := map[string]bool{}
	for _, name := range []string{"tcp", "tcp6"} {
		table, _ := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, name)) // the network that it sees
		for s := range TCPSockets(table, port) {
			listening[s.Link()] = s.State == Listening
		}
	}
	files, _ := Files(pid)
	for _, path := range files {
		if listening[path] {
			return true
		}
	}
	return false
}
