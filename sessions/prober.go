package sessions

import (
	"errors"
	"path/filepath"

	"c2c/client"
	"c2c/sessions/facts"
	"c2c/sessions/locks"
	"c2c/sessions/processes"
	"c2c/sessions/registry"
	"c2c/wake"
)

// Prober finds out whether the clients of sessions live, and what the sessions do. A list uses one Prober for all its sessions.
type Prober struct {
	brief     bool                   // see Registry.Brief
	held      func(lock string) bool // reports whether a process holds a lock of the root
	opened    func(p client.Profile, pid int) (ids map[string]bool, known bool)
	opening   map[int]map[string]bool // what client.Profile.Opening has said of each process; nil: ask anew for each question
	processes processes.Table
}

// Prober returns a prober that checks processes and locks anew for each question.
func (reg *Registry) Prober() Prober {
	return Prober{reg.Brief, reg.Locks.Held, reg.Processes.Opened, nil, reg.Processes}
}

// probeOnce returns a prober that checks a process only once, though several sessions may share it. The argument files has the names of all
// files in the root: a lock without a file is not held.
func (reg *Registry) probeOnce(files map[string]bool) Prober {
	look := reg.Prober()
	look.held = func(lock string) bool { return files[lock] && reg.Locks.Held(lock) }
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
	look.opening = map[int]map[string]bool{}
	return look
}

// Now finds out what a session does. If mail waits for the session and the last ring found the session away, it counts as away.
func (look Prober) Now(s Session, mailWaits bool) Now {
	switch {
	case s.State == Absent:
		return Now{Does: Absent, Known: ByProcess}
	case s.State != Alive:
		return Now{Does: s.State}
	}
	if ring := s.LastRing; mailWaits && ring.Outcome == wake.Away {
		return Now{Does: Away, Since: ring.At.UTC(), Known: ByRing}
	}
	if p, _ := client.Find(s.Client); p.Doing != nil && s.Process != 0 {
		config, _ := p.Config(processes.Environment(look.processes.Environ(s.Process)))
		if said := p.Doing(config, s.Process, s.ClientID()); said.Word != "" {
			now := Now{Does: State(said.Word), Since: utc(said.Since), Known: ByRecord}
			if p.DoingDir != "" {
				now.Dir = filepath.Join(config, p.DoingDir)
			}
			return now
		}
	}
	if s.Turn == "" || s.followed() && !look.held(locks.RingLock(s.ID)) { // not reported, or the process that reported it has ended
		return Now{Does: Alive, Known: ByProcess}
	}
	return Now{Does: s.Turn, Since: s.Facts.TurnAt, Known: s.Facts.TurnBy}
}

// isElsewhere reports whether a row's process id belongs to another PID namespace. Only our facts have the namespace; a row that
// the OCaml c2c wrote counts as one of our namespace.
func isElsewhere(r registry.Row, f facts.Facts, table processes.Table) bool {
	return f.Namespace != "" && r.HasProcess(f.PID, f.StartTime) && !processes.SameNamespace(f.Namespace, table.Namespace())
}

// setState finds out whether the client of a session lives. A process id alone proves nothing, because another process may have the id by
// now. The start time of the process is proof, and so is a lock that the session's server holds. Many sessions may share one process, which
// outlives each of them: such a session lives only if it is also open in the process.
func (look Prober) setState(s *Session, r registry.Row) {
	if IsPersonID(s.ID) || r.Text("client_type") == ClientHuman {
		s.State = Person
		return
	}
	if IsExternalID(s.ID) {
		s.State = External
		return
	}
	if IsHostID(s.ID) {
		s.State = Remote
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
		gone = errors.Is(err, processes.ErrNoProcess) || err == nil && start != 0
	}
	switch {
	case look.brief:
		s.State = Unknown
	case visible && start == processes.NoStart:
		s.State = Absent
	case look.held(locks.ServerLock(s.ID)): // the process that started the server has ended, but the server lives
		s.State = Alive
	case gone:
		s.State = Absent
	case look.held(locks.RingLock(s.ID)):
		s.State = Alive
	default:
		s.State = Unknown
	}
}

// hasEnded reports whether a session is no longer open in its live process. It is open if its server runs; this cheap test comes first.
func (look Prober) hasEnded(s *Session) bool {
	p, _ := client.Find(s.Client)
	if p.Open == nil || len(s.ClientIDs) == 0 || look.held(locks.ServerLock(s.ID)) {
		return false
	}
	open, known := look.opened(p, s.PID)
	if id := s.ClientID(); known && !open[id] {
		opening, asked := look.opening[s.PID]
		if !asked {
			opening = p.Opening(open)
		}
		if look.opening != nil {
			look.opening[s.PID] = opening
		}
		s.Opening = opening[id]
		return !s.Opening
	}
	return false
}
