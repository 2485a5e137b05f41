package broker

import "errors"

// errNoProcess says that a process id is not in use.
var errNoProcess = errors.New("no such process")

// A process is told from a later one with the same id by its start time: ticks since boot on Linux (field
// 22 of /proc/<pid>/stat, as the original stores it), microseconds since 1970 on macOS.
type process struct {
	pid    int
	parent int
	start  int64
}

// processes looks processes up; tests put their own in.
type processes interface {
	// find gives errNoProcess when there is none; zombies count as none.
	find(pid int) (process, error)
	self() int
}

// state says what a process id and start time of the registry are worth now.
func state(p processes, pid int, start int64) State {
	if pid <= 0 {
		return Unknown
	}
	found, err := p.find(pid)
	switch {
	case errors.Is(err, errNoProcess):
		return Absent
	case err != nil || start == 0:
		return Unknown
	case found.start != start:
		return Absent
	}
	return Alive
}
