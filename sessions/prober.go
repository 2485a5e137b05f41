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

// Prober finds out whether clients live, and what they do. A list uses one for all its sessions.
type Prober struct {
	brief     bool                   // see Registry
	held      func(lock string) bool // reports whether a process holds a lock of the root
	opened    func(p client.Profile, pid int) (ids map[string]bool, known bool)
	processes processes.Table
}

// Prober returns a prober that looks anew at each question.
func (reg *Registry) Prober() Prober {
	return Prober{reg.Brief, reg.Locks.Held, reg.Processes.Opened, reg.Processes}
}

// probeOnce returns a prober that looks at each shared process only once. there has the names of the files in the root: a lock
// that is not among them is not held.
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

// Now finds out what a session does. waits means that mail waits for it: then the last ring counts, if that found the session
// away.
func (look Prober) Now(s Session, waits bool) Now {
	if s.State != Alive {
		return Now{Does: s.State, Known: knownBy(s.State)}
	}
	if ring := s.LastRing; waits && ring.Outcome == wake.Away {
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
	if s.Turn == "" || s.followed() && !look.held(locks.RingLock(s.ID)) { // the process that reports it has ended
		return Now{Does: Alive, Known: ByProcess}
	}
	return Now{Does: s.Turn, Since: s.Facts.TurnAt, Known: s.Facts.TurnBy}
}

func knownBy(s State) string {
	if s == Absent {
		return ByProcess
	}
	return ""
}

// isElsewhere reports whether a row's process id belongs to another PID namespace. Only the facts have the namespace; for a row
// of the original we assume ours.
func isElsewhere(r registry.Row, f facts.Facts, table processes.Table) bool {
	return f.Namespace != "" && r.HasProcess(f.PID, f.StartTime) && !processes.SameNamespace(f.Namespace, table.Namespace())
}

// setState finds out whether the client of a session lives. A process id alone proves nothing, because another process may have it
// by now. Its start time proves it, or a lock that the session's server holds. If many sessions share a process, which survives the
// end of each, the session must also be open in it.
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
	case look.held(locks.ServerLock(s.ID)): // the process that started the server has ended, but not the server
		s.State = Alive
	case gone:
		s.State = Absent
	case look.held(locks.RingLock(s.ID)):
		s.State = Alive
	default:
		s.State = Unknown
	}
}

// hasEnded reports whether a session is no longer open in its live process. If its server runs it is open; testing that first costs
// less.
func (look Prober) hasEnded(s *Session) bool {
	p, _ := client.Find(s.Client)
	if p.Open == nil || len(s.ClientIDs) == 0 || look.held(locks.ServerLock(s.ID)) {
		return false
	}
	open, known := look.opened(p, s.PID)
	return known && !open[s.ClientID()]
}
