package client

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// OneShot reports whether a client's process answers one prompt and then ends. The hooks of such a process bring waiting mail with the
// prompt. Nobody rings the process, because its model might never answer. Without /proc OneShot returns false.
func OneShot(client string, pid int) bool {
	p, _ := Find(client)
	return p.isOneShot(argsOf(pid))
}

// IsDaemon reports whether a client's process is the daemon that its windows share, see Profile.Daemon. Without /proc it returns false.
func IsDaemon(client string, pid int) bool {
	p, _ := Find(client)
	return p.Daemon != "" && slices.Contains(argsOf(pid), p.Daemon)
}

// argsOf returns the command line of a process, empty without /proc.
func argsOf(pid int) []string {
	cmdline, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return strings.Split(string(cmdline), "\x00")
}

// isOneShot reports whether a process with these arguments answers one prompt and then ends.
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
