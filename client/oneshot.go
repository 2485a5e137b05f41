package client

import (
	"cmp"
	"slices"
	"strings"

	"c2c/internal/proc"
)

// OneShot reports whether a client's process answers one prompt and then ends. The hooks of such a
// process bring waiting mail with the prompt. Nobody rings the process, because its model might
// never answer.
func OneShot(client string, pid int) bool {
	p, _ := Find(client)
	return p.isOneShot(proc.Args(pid))
}

// IsDaemon reports whether a client's process is the daemon that its windows share, see
// Profile.Daemon.
func IsDaemon(client string, pid int) bool {
	p, _ := Find(client)
	return p.Daemon != "" && slices.Contains(proc.Args(pid), p.Daemon)
}

// Running returns the name of the client whose command line is argv, for a person; "": c2c knows no
// such client. For a Daemon it adds the command that ends the daemon.
func Running(argv []string) string {
	for _, arg := range argv[:min(3, len(argv))] { // the interpreter and an option of it may stand first
		path := strings.Split(strings.TrimSuffix(arg, ".js"), "/")
		first := cmp.Or(max(slices.Index(path, "node_modules"), 0), len(path)-1) // below node_modules a package has the client's name
		for _, name := range path[first:] {
			if p, known := Find(name); known && p.Daemon != "" && slices.Contains(argv, p.Daemon) {
				return p.Name + " in the background, with " + p.StopDaemon
			} else if known {
				return p.Name
			}
		}
	}
	return ""
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
