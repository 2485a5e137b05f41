package sessions

import (
	"errors"
	"os"
	"strings"

	"c2c/client"
	"c2c/inbox/filelock"
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
func (reg *Registry) isElsewhere(r Row, f Facts) bool {
	return f.Namespace != "" && r.HasProcess(Process{PID: f.PID, Start: f.StartTime}) && !SameNamespace(f.Namespace, reg.Processes.Namespace())
}

// SameNamespace compares two PID namespaces. The first one has the same inode on every machine, so the boot
// counts too. After a reboot the same machine is the same place: its old processes are looked for, and not found.
func SameNamespace(one, other string) bool {
	a, b := strings.Fields(one), strings.Fields(other)
	return one == other || len(a) == 3 && len(b) == 3 && a[0] == b[0] && a[2] == b[2]
}

// IsBoundTo says whether a row is bound to exactly this process.
func (reg *Registry) IsBoundTo(r Row, p Process) bool {
	return r.HasProcess(p) && !reg.isElsewhere(r, reg.FactsOf(r.SID()))
}

// State says whether a session's client lives, as far as it can be seen from here.
func (reg *Registry) State(r Row) State { return reg.Session(r).State }

// prober is how it is found out whether a client lives. A list looks once for all its sessions.
type prober struct {
	brief  bool                   // see Registry
	held   func(lock string) bool // a process holds a lock of the root
	opened func(p client.Profile, pid int) (ids map[string]bool, known bool)
}

func (reg *Registry) Prober() prober { return prober{reg.Brief, reg.IsHeld, reg.Processes.Opened} }

// probeOnce opens only locks that are among the names of the root, and looks at a process that many sessions share once.
func (reg *Registry) probeOnce(there map[string]bool) prober {
	look := reg.Prober()
	look.held = func(lock string) bool { return there[lock] && reg.IsHeld(lock) }
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
func (reg *Registry) setState(s *Session, r Row, look prober) {
	if IsPersonID(s.ID) || r.Text("client_type") == ClientHuman {
		s.State = Person
		return
	}
	if IsExternalID(s.ID) {
		s.State = External
		return
	}
	start, visible, gone := r.Integer("pid_start_time"), s.PID > 0 && !reg.isElsewhere(r, s.Facts), false
	if visible {
		p, err := reg.Processes.Find(s.PID)
		if err == nil && start != 0 && p.Start == start {
			if reg.hasEnded(s, look) {
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
	case look.held(ServerLock(s.ID)): // the process that started the server has ended, the server has not
		s.State = Alive
	case gone:
		s.State = Absent
	case look.held(RingLock(s.ID)):
		s.State = Alive
	default:
		s.State = Unknown
	}
}

// hasEnded says whether a session whose process lives is not open in it any more. While its server runs it is: to ask
// that costs less.
func (reg *Registry) hasEnded(s *Session, look prober) bool {
	p, _ := client.Find(s.Client)
	if p.Open == nil || len(s.ClientIDs) == 0 || look.held(ServerLock(s.ID)) {
		return false
	}
	open, known := look.opened(p, s.PID)
	return known && !open[s.ClientID()]
}

// HasRinger says whether a process has the right to ring the session. That is its server as a rule, a child of
// its client.
func (reg *Registry) HasRinger(sid string) bool { return reg.IsHeld(RingLock(sid)) }

// HasServer says whether an MCP server or a plugin process of ours serves the session.
func (reg *Registry) HasServer(sid string) bool { return reg.IsHeld(ServerLock(sid)) }

func (reg *Registry) IsHeld(lock string) bool {
	held, known := reg.locks[lock]
	if !known {
		held = reg.isHeldNow(lock)
		if reg.locks != nil {
			reg.locks[lock] = held
		}
	}
	return held
}

func (reg *Registry) isHeldNow(lock string) bool {
	f, err := reg.root.OpenHandle(lock, os.O_RDONLY) // the close of a writer would wake whoever watches the file
	if err != nil {
		return false
	}
	defer f.Close()
	free, err := filelock.FreeFile(f)
	return err == nil && !free
}
