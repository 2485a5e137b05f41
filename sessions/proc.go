package sessions

import (
	"errors"
	"strings"

	"c2c/client"
	"c2c/sessions/facts"
	"c2c/sessions/locks"
	"c2c/sessions/registry"
)

// ErrNoProcess says that a process id is not in use.
var ErrNoProcess = errors.New("no such process")

// A process has an id and a start time, because a later process may get the same id. The start time is in ticks
// since boot on Linux (field 22 of /proc/<pid>/stat, as the original stores it), in microseconds since 1970 on macOS.
type Process struct {
	PID    int
	Parent int
	Start  int64
}

// ProcessTable finds processes; tests have a table of their own.
type ProcessTable interface {
	// find gives ErrNoProcess when there is none; zombies count as none.
	Find(pid int) (Process, error)
	Self() int
	// namespace says in which PID namespace the ids are looked up: its inode, the boot, the machine.
	Namespace() string
	// environ gives the variables with which a process was started, nil where that is not told.
	Environ(pid int) []string
	// opened gives the client's ids of the sessions that a process has open, see client.Profile.Open.
	Opened(p client.Profile, pid int) (ids map[string]bool, known bool)
}

// NoStart replaces the start time of a session that its client has left. No process has it, so the session is
// absent. Without a process id its state would be unknown.
const NoStart = -1

// isElsewhere says whether a row's process id belongs to another PID namespace. Only the facts tell that: a process
// that the original registered is looked for in ours.
func isElsewhere(r registry.Row, f facts.Facts, processes ProcessTable) bool {
	return f.Namespace != "" && r.HasProcess(f.PID, f.StartTime) && !SameNamespace(f.Namespace, processes.Namespace())
}

// SameNamespace compares two PID namespaces. The first one has the same inode on every machine, so the boot
// counts too. After a reboot the same machine is the same place: its old processes are looked for, and not found.
func SameNamespace(one, other string) bool {
	a, b := strings.Fields(one), strings.Fields(other)
	return one == other || len(a) == 3 && len(b) == 3 && a[0] == b[0] && a[2] == b[2]
}

// IsBoundTo says whether a row is bound to exactly this process.
func (reg *Registry) IsBoundTo(r registry.Row, p Process) bool {
	return r.HasProcess(p.PID, p.Start) && !isElsewhere(r, reg.Facts.Of(r.SID()), reg.Processes)
}

// State says whether a session's client lives, as far as it can be seen from here.
func (reg *Registry) State(r registry.Row) State { return reg.Session(r).State }

// Prober finds out whether a client lives, and what it does. A list has one for all its sessions.
type Prober struct {
	brief     bool                   // see Registry
	held      func(lock string) bool // a process holds a lock of the root
	opened    func(p client.Profile, pid int) (ids map[string]bool, known bool)
	processes ProcessTable
}

// Prober looks anew at each question.
func (reg *Registry) Prober() Prober {
	return Prober{reg.Brief, reg.Locks.Held, reg.Processes.Opened, reg.Processes}
}

// probeOnce opens only locks that are among the names of the root, and looks at a process that many sessions share once.
func (reg *Registry) probeOnce(there map[string]bool) Prober {
	look := reg.Prober()
	look.held = func(lock string) bool { return there[lock] && reg.Locks.Held(lock) }
	type answer struct {
		ids   map[string]bool
		known bool
	}
	said := map[int]answer{}
	look.opened = func(p client.Profile, pid int) (map[string]bool, bool) {
		a, asked := said[pid]
		if !asked {
			a.ids, a.known = reg.Processes.Opened(p, pid)
			said[pid] = a
		}
		return a.ids, a.known
	}
	return look
}

// setState finds out whether the client of a session lives. A process id alone proves nothing, because another
// process may have it by now. Its start time proves it, or a lock that the session's server holds. Where many sessions
// share a process, which lives on when one of them has ended, the session has to be open in it, too.
func (look Prober) setState(s *Session, r registry.Row) {
	if IsPersonID(s.ID) || r.Text("client_type") == ClientHuman {
		s.State = Person
		return
	}
	if IsExternalID(s.ID) {
		s.State = External
		return
	}
	start, visible, gone := r.Integer("pid_start_time"), s.PID > 0 && !isElsewhere(r, s.Facts, look.processes), false
	if visible {
		p, err := look.processes.Find(s.PID)
		if err == nil && start != 0 && p.Start == start {
			if look.hasEnded(s) {
				s.State = Absent
			} else {
				s.State, s.Process = Alive, s.PID
			}
			return
		}
		gone = errors.Is(err, ErrNoProcess) || err == nil && start != 0
	}
	switch {
	case look.brief:
		s.State = Unknown
	case visible && start == NoStart:
		s.State = Absent
	case look.held(locks.ServerLock(s.ID)): // the process that started the server has ended, the server has not
		s.State = Alive
	case gone:
		s.State = Absent
	case look.held(locks.RingLock(s.ID)):
		s.State = Alive
	default:
		s.State = Unknown
	}
}

// hasEnded says whether a session whose process lives is not open in it any more. While its server runs it is: to ask
// that costs less.
func (look Prober) hasEnded(s *Session) bool {
	p, _ := client.Find(s.Client)
	if p.Open == nil || len(s.ClientIDs) == 0 || look.held(locks.ServerLock(s.ID)) {
		return false
	}
	open, known := look.opened(p, s.PID)
	return known && !open[s.ClientID()]
}
