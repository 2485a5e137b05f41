// Package processes says which processes this machine runs, when each was started, and with which variables. A session is bound
// to the process of its client. The package also keeps the note for clients that go on running when c2c was uninstalled.
package processes

import (
	"errors"
	"strings"

	"c2c/client"
)

// ErrNoProcess says that a process id is not in use.
var ErrNoProcess = errors.New("no such process")

// A Process has an id and a start time, because a later process may get the same id. The start time is in ticks
// since boot on Linux (field 22 of /proc/<pid>/stat, as the original stores it), in microseconds since 1970 on macOS.
type Process struct {
	PID    int
	Parent int
	Start  int64
}

// NoStart replaces the start time of a session that its client has left. No process has it, so the session is
// absent. Without a process id its state would be unknown.
const NoStart = -1

// Table finds processes; tests have a table of their own.
type Table interface {
	// Find gives ErrNoProcess when there is none; zombies count as none.
	Find(pid int) (Process, error)
	Self() int
	// Namespace says in which PID namespace the ids are looked up: its inode, the boot, the machine.
	Namespace() string
	// Environ gives the variables with which a process was started, nil where that is not told.
	Environ(pid int) []string
	// Opened gives the client's ids of the sessions that a process has open, see client.Profile.Open.
	Opened(p client.Profile, pid int) (ids map[string]bool, known bool)
}

// SameNamespace compares two PID namespaces. The first one has the same inode on every machine, so the boot
// counts too. After a reboot the same machine is the same place: its old processes are looked for, and not found.
func SameNamespace(one, other string) bool {
	a, b := strings.Fields(one), strings.Fields(other)
	return one == other || len(a) == 3 && len(b) == 3 && a[0] == b[0] && a[2] == b[2]
}

// Environment gives the variables of a list as NAME=value.
func Environment(list []string) func(string) string {
	return func(name string) string {
		for _, v := range list {
			if value, ok := strings.CutPrefix(v, name+"="); ok && name != "" {
				return value
			}
		}
		return ""
	}
}

// FindOnce is a table that looks for each process once.
func FindOnce(table Table) Table { return foundOnce{table, map[int]found{}} }

type foundOnce struct {
	Table
	found map[int]found
}

type found struct {
	process Process
	err     error
}

func (t foundOnce) Find(pid int) (Process, error) {
	f, looked := t.found[pid]
	if !looked {
		f.process, f.err = t.Table.Find(pid)
		t.found[pid] = f
	}
	return f.process, f.err
}
