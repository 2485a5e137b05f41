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
	cmdline, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	p, _ := Find(client)
	return err == nil && p.isOneShot(strings.Split(string(cmdline), "\x00"))
}

// IsDaemon says whether a client's process is the one that its windows share, and that can be asked for a turn. Where
// there is no /proc, it is false.
func IsDaemon(client string, pid int) bool {
	cmdline, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	p, _ := Find(client)
	return err == nil && p.Daemon != "" && slices.Contains(strings.Split(string(cmdline), "\x00"), p.Daemon)
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
