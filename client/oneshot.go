package client

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// OneShot says whether a client's process ends with the answer to its one prompt. Its hooks bring what waits
// with that prompt, and a line that comes beside it might be answered by nobody. Where there is no /proc, it is false.
func OneShot(client string, pid int) bool {
	p, _ := Find(client)
	return p.isOneShot(argsOf(pid))
}

// IsDaemon says whether a client's process is the one that its windows share, and that can be asked for a turn. Where
// there is no /proc, it is false.
func IsDaemon(client string, pid int) bool {
	p, _ := Find(client)
	return p.Daemon != "" && slices.Contains(argsOf(pid), p.Daemon)
}

// argsOf is the command line of a process, empty where there is no /proc.
func argsOf(pid int) []string {
	cmdline, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return strings.Split(string(cmdline), "\x00")
}

// isOneShot says whether a process with these arguments ends with its answer to one prompt.
func (p Profile) isOneShot(argv []string) (is bool) {
	for _, arg := range argv {
		switch {
		case slices.Contains(p.Stream, arg):
			return false
		case arg == "--":
			return is
		}
		is = is || slices.Contains(p.OneShot, arg)
	}
	return is
}
