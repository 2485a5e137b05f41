// This part finds the processes that this machine runs, with their start times and environment
// variables. c2c binds each session to the process of its client. When c2c is uninstalled, the
// package leaves a note for c2c's parts in clients that run on: when they have read the note, they
// do nothing any more.

package sessions

import (
	"errors"
	"slices"
	"strings"

	"c2c/client"
	"c2c/internal/proc"
)

// ErrNoProcess says that a process id is not in use.
var ErrNoProcess = errors.New("no such process")

// A Process has an id and a start time, because a later process may get the same id. The start time
// is in ticks since boot on Linux (field 22 of /proc/<pid>/stat), in microseconds since 1970 on
// macOS.
type Process struct {
	PID    int
	Parent int
	Start  int64
}

// NoStart is the start time in the row of a session after its client has begun another session. No
// process has this start time, so the session is absent. If the row had no process id instead, the
// state of the session would be unknown.
const NoStart = -1

// ProcessTable finds processes. Tests have tables of their own.
type ProcessTable interface {
	// Find returns ErrNoProcess if no process has the id. A zombie does not count.
	Find(pid int) (Process, error)
	Self() int
	// Namespace returns the PID namespace to which the process ids belong: its inode, the boot, the
	// machine.
	Namespace() string
	// Environ returns the variables with which a process was started; nil if the system does not
	// show them.
	Environ(pid int) []string
	// Opened returns the sessions that a process has open, by the client's own ids; see
	// client.Profile.Open.
	Opened(p client.Profile, pid int) (ids map[string]bool, known bool)
}

// FirstNamespace is the PID namespace of a Linux machine's first process. No container and no
// sandbox is in it. Linux gives this namespace a fixed number.
const FirstNamespace = "pid:[4026531836]"

// SameNamespace reports whether two PID namespaces are the same one. The first namespace has the
// same inode on every machine. Therefore the ids of the machines must be the same, too. The boots
// may differ, because Find finds no process from before the present boot. If a machine has no id,
// the boots must be the same instead.
func SameNamespace(one, other string) bool {
	a, b := strings.Fields(one), strings.Fields(other)
	return one == other || len(a) == 3 && len(b) == 3 && a[0] == b[0] && a[2] == b[2]
}

// Systemd is what proc.Owner calls systemd, both as process 1 and as the process that starts a
// user's services.
const Systemd = "systemd"

// Adopts reports whether a process is no client, but becomes the parent of processes whose parent
// has ended: a user's systemd, or process 1. But process 1 of a container may be the client itself.
// Adopts takes it for the client if its arguments name any client, or if c2c knows no client called
// clientName. The name of any client counts, because an agent can register its session as one of
// another client.
func Adopts(clientName string, pid int) bool {
	if _, name, _ := proc.Owner(pid); name == Systemd || pid != 1 {
		return name == Systemd
	}
	args, names := strings.Join(proc.Args(pid), " "), client.Names()
	return slices.Contains(names, clientName) && !slices.ContainsFunc(names, func(name string) bool { return strings.Contains(args, name) })
}

// EnvironmentOf makes a lookup function from a list of NAME=value.
func EnvironmentOf(list []string) func(string) string {
	return func(name string) string {
		for _, v := range list {
			if value, ok := strings.CutPrefix(v, name+"="); ok && name != "" {
				return value
			}
		}
		return ""
	}
}

// FindOnce returns a table that looks up each process only once.
func FindOnce(table ProcessTable) ProcessTable { return foundOnce{table, map[int]found{}} }

type foundOnce struct {
	ProcessTable
	found map[int]found
}

type found struct {
	process Process
	err     error
}

func (t foundOnce) Find(pid int) (Process, error) {
	f, looked := t.found[pid]
	if !looked {
		f.process, f.err = t.ProcessTable.Find(pid)
		t.found[pid] = f
	}
	return f.process, f.err
}
