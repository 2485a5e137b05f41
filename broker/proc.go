package broker

import (
	"errors"
	"os"
	"strings"

	"c2c/inbox/filelock"
)

var (
	// errNoProcess says that a process id is not in use.
	errNoProcess = errors.New("no such process")
	// errHidden says that the process table is not the one our process ids belong to.
	errHidden = errors.New("the processes of this PID namespace cannot be seen")
)

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
	// namespace says in which PID namespace the ids are looked up: its inode, the boot, the machine.
	namespace() string
}

// noStart is the start time of a session that its client has left. No process has it. Without a process the
// session would count as perhaps alive.
const noStart = 1

// isElsewhere says whether a row's process id belongs to another PID namespace. Only its facts tell; of a
// process that the original registered nothing is known, and it is looked for here.
func (b *Broker) isElsewhere(r row, f facts) bool {
	return f.Namespace != "" && r.isBoundTo(process{pid: f.PID, start: f.StartTime}) && !sameNamespace(f.Namespace, b.proc.namespace())
}

// sameNamespace compares two PID namespaces. The first one has the same inode on every machine, so the boot
// counts too; the same machine after a reboot is the same place, whose processes are looked for and not found.
func sameNamespace(one, other string) bool {
	a, b := strings.Fields(one), strings.Fields(other)
	return one == other || len(a) == 3 && len(b) == 3 && a[0] == b[0] && a[2] == b[2]
}

// isBoundTo says whether a row is bound to exactly this process.
func (b *Broker) isBoundTo(r row, p process) bool {
	return r.isBoundTo(p) && !b.isElsewhere(r, b.factsOf(r.sid()))
}

// state says whether a session's client lives, as far as it can be seen from here.
func (b *Broker) state(r row) State { return b.session(r).State }

// setState finds out whether the client of a session lives. A process id alone, of which another process may have
// become the owner, proves nothing: its start time does, and a lock that the session's server holds.
func (b *Broker) setState(s *Session, r row, held func(lock string) bool) {
	if isPersonID(s.ID) || r.text("client_type") == ClientHuman {
		s.State = Person
		return
	}
	start, visible, gone := r.integer("pid_start_time"), s.PID > 0 && !b.isElsewhere(r, s.facts), false
	if visible {
		p, err := b.proc.find(s.PID)
		if err == nil && start != 0 && p.start == start {
			s.State, s.Process = Alive, s.PID
			return
		}
		gone = errors.Is(err, errNoProcess) || err == nil && start != 0
	}
	switch {
	case visible && start == noStart:
		s.State = Absent
	case held(serverLock(s.ID)): // what started the server is gone, and the server is not
		s.State = Alive
	case gone:
		s.State = Absent
	case held(ringLock(s.ID)):
		s.State = Alive
	default:
		s.State = Unknown
	}
}

// hasRinger says whether a process holds the right to ring the session: its server, as a rule, and that is a
// child of its client.
func (b *Broker) hasRinger(sid string) bool { return b.isHeld(ringLock(sid)) }

func (b *Broker) isHeld(lock string) bool {
	f, err := b.root.Open(lock, os.O_RDWR)
	if err != nil {
		return false
	}
	defer f.Close()
	free, err := filelock.FreeFile(f)
	return err == nil && !free
}
