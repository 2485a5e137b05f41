package proc

import (
	"bytes"
	"fmt"
	"os"
)

// Listens reports whether a process listens on a TCP port. It cannot inspect a process of another
// user, and then returns false.
func Listens(pid, port int) bool {
	listening := map[string]bool{}
	for _, name := range []string{"tcp", "tcp6"} {
		table, _ := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, name)) // the table of the process's network namespace
		for s := range TCPSockets(bytes.NewReader(table), port) {
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
