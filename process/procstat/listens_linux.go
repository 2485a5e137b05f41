package procstat

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Listens says whether a process listens at a TCP port. That of another user cannot be looked at, and does not.
func Listens(pid, port int) bool {
	sockets := map[string]bool{}
	for _, table := range []string{"tcp", "tcp6"} {
		data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, table)) // the network that it sees
		addListeners(sockets, string(data), port)
	}
	if len(sockets) == 0 {
		return false
	}
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	files, _ := os.ReadDir(dir)
	for _, file := range files {
		if to, err := os.Readlink(filepath.Join(dir, file.Name())); err == nil && sockets[to] {
			return true
		}
	}
	return false
}

// addListeners adds the sockets that listen at a port, as the links in /proc/<pid>/fd call them. In a table, see proc(5),
// the second field is the local address, the fourth the state, the tenth the inode.
func addListeners(sockets map[string]bool, table string, port int) {
	const listens = "0A"
	for line := range strings.Lines(table) {
		if f := strings.Fields(line); len(f) > 9 && f[3] == listens && strings.HasSuffix(f[1], fmt.Sprintf(":%04X", port)) {
			sockets["socket:["+f[9]+"]"] = true
		}
	}
}
