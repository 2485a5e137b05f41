package broker

import (
	"errors"
	"os"
	"strings"

	"c2c/broker/client"
	"c2c/inbox/filelock"
)

// errNoProcess says that a process id is not in use.
var errNoProcess = errors.New("no such process")

// A process has an id and a start time, because a later process may get the same id. The start time is in ticks
// since boot on Linux (field 22 of /proc/<pid>/stat, as the original stores it), in microseconds since 1970 on macOS.
type process struct {
	pid    int
	parent int
	start  int64
}

// processes finds processes; tests have a table of their own.
type processes interface {
	// find gives errNoProcess when there is none; zombies count as none.
	find(pid int) (process, error)
	self() int
	// namespace says in which PID namespace the ids are looked up: its inode, the boot, the machine.
	namespace() string
	// environ gives the variables with which a process was started, nil where that is not told.
	environ(pid int) []string
	// opened gives the client's ids of the sessions that a process has open, see client.Profile.Open.
	opened(p client.Profile, pid int) (ids map[string]bool, known bool)
}

// noStart replaces the start time of a session that its client has left. No process has it, so the session is
// absent. Without a process id its state would be unknown.
const noStart = -1

// isElsewhere says whether a row's process id belongs to another PID namespace. Only the facts tell that: a process
// that the original registered is looked for in ours.
func (b *Broker) isElsewhere(r row, f facts) bool {
	return f.Namespace != "" && r.hasProcess(process{pid: f.PID, start: f.StartTime}) && !sameNamespace(f.Namespace, b.proc.namespace())
}

// sameNamespace compares two PID namespaces. The first one has the same inode on every machine, so the boot
// counts too. After a reboot the same machine is the same place: its old processes are looked for, and not found.
func sameNamespace(one, other string) bool {
	a, b := strings.Fields(one), strings.Fields(other)
	return one == other || len(a) == 3 && len(b) == 3 && a[0] == b[0] && a[2] == b[2]
}

// isBoundTo says whether a row is bound to exactly this process.
func (b *Broker) isBoundTo(r row, p process) bool {
	return r.hasProcess(p) && !b.isElsewhere(r, b.factsOf(r.sid()))
}

// state says whether a session's client lives, as far as it can be seen from here.
func (b *Broker) state(r row) State { return b.session(r).State }

// looks is how it is found out whether a client lives. A list looks once for all its sessions.
type looks struct {
	brief  bool                   // see Broker
	held   func(lock string) bool // a process holds a lock of the root
	opened func(p client.Profile, pid int) (ids map[string]bool, known bool)
}

func (b *Broker) looks() looks { return looks{b.brief, b.isHeld, b.proc.opened} }

// lookOnce opens only locks that are among the names of the root, and looks at a process that many sessions share once.
func (b *Broker) lookOnce(there map[string]bool) looks {
	look := b.looks()
	look.held = func(lock string) bool { return there[lock] && b.isHeld(lock) }
	type answer struct {
		ids   map[string]bool
		known bool
	}
	said := map[int]answer{}
	look.opened = func(p client.Profile, pid int) (map[string]bool, bool) {
		a, asked := said[pid]
		if !asked {
			a.ids, a.known = b.proc.opened(p, pid)
			said[pid] = a
		}
		return a.ids, a.known
	}
	return look
}

// setState finds out whether the client of a session lives. A process id alone proves nothing, because another
// process may have it by now. Its start time proves it, or a lock that the session's server holds. Where many sessions
// share a process, which lives on when one of them has ended, the session has to be open in it, too.
func (b *Broker) setState(s *Session, r row, look looks) {
	if isPersonID(s.ID) || r.text("client_type") == ClientHuman {
		s.State = Person
		return
	}
	if isExternalID(s.ID) {
		s.State = External
		return
	}
	start, visible, gone := r.integer("pid_start_time"), s.PID > 0 && !b.isElsewhere(r, s.facts), false
	if visible {
		p, err := b.proc.find(s.PID)
		if err == nil && start != 0 && p.start == start {
			if b.hasEnded(s, look) {
				s.State = Absent
			} else {
				s.State, s.Process = Alive, s.PID
			}
			return
		}
		gone = errors.Is(err, errNoProcess) || err == nil && start != 0
	}
	switch {
	case look.brief:
		s.State = Unknown
	case visible && start == noStart:
		s.State = Absent
	case look.held(serverLock(s.ID)): // the process that started the server has ended, the server has not
		s.State = Alive
	case gone:
		s.State = Absent
	case look.held(ringLock(s.ID)):
		s.State = Alive
	default:
		s.State = Unknown
	}
}

// hasEnded says whether a session whose process lives is not open in it any more. While its server runs it is: to ask
// that costs less.
func (b *Broker) hasEnded(s *Session, look looks) bool {
	p, _ := client.Find(s.Client)
	if p.Open == nil || len(s.ClientIDs) == 0 || look.held(serverLock(s.ID)) {
		return false
	}
	open, known := look.opened(p, s.PID)
	return known && !open[s.ClientID()]
}

// HasRinger says whether a process has the right to ring the session. That is its server as a rule, a child of
// its client.
func (b *Broker) HasRinger(sid string) bool { return b.isHeld(ringLock(sid)) }

// HasServer says whether an MCP server or a plugin process of ours serves the session.
func (b *Broker) HasServer(sid string) bool { return b.isHeld(serverLock(sid)) }

func (b *Broker) isHeld(lock string) bool {
	held, known := b.locks[lock]
	if !known {
		held = b.isHeldNow(lock)
		if b.locks != nil {
			b.locks[lock] = held
		}
	}
	return held
}

func (b *Broker) isHeldNow(lock string) bool {
	f, err := b.root.OpenHandle(lock, os.O_RDONLY) // the close of a writer would wake whoever watches the file
	if err != nil {
		return false
	}
	defer f.Close()
	free, err := filelock.FreeFile(f)
	return err == nil && !free
}
