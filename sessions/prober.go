package sessions

import (
	"errors"
	"path/filepath"

	"c2c/client"
	"c2c/wake"
)

// Prober finds out whether the clients of sessions live, and what the sessions do. It asks a
// process only once which sessions it has open, though many sessions may share it. So whoever looks
// at several sessions uses one Prober for all.
type Prober struct {
	reg  *Registry
	held func(lock string) bool // reports whether a process holds a lock of the root
	said map[int]*shared        // by process id
}

// shared is what a client that has many sessions in a process has said of them, see client.Profile.
type shared struct {
	open, opening map[string]bool
	known, looked bool // looked: opening is known
}

// Prober returns a prober for one or more sessions.
func (reg *Registry) Prober() Prober { return Prober{reg, reg.Locks.Held, map[int]*shared{}} }

// listProber returns a prober for all sessions. The argument files has the names of all files in
// the root: a lock without a file is not held.
func (reg *Registry) listProber(files map[string]bool) Prober {
	look := reg.Prober()
	look.held = func(lock string) bool { return files[lock] && reg.Locks.Held(lock) }
	return look
}

// Now finds out what a session does. If mail waits for the session and the last ring found the
// session away, it counts as away.
func (look Prober) Now(s Session, mailWaits bool) Now {
	switch {
	case s.State == Absent:
		return Now{Does: Absent, Known: ByProcess}
	case s.State != Alive:
		return Now{Does: s.State}
	case s.Opening:
		return Now{Does: Waiting, Known: ByProcess}
	}
	if ring := s.LastRing; mailWaits && ring.Outcome == wake.Away {
		return Now{Does: Away, Since: ring.At.UTC(), Known: ByRing}
	}
	if p, _ := client.Find(s.Client); p.Doing != nil && s.Process != 0 {
		config, _ := p.Config(EnvironmentOf(look.reg.Processes.Environ(s.Process)))
		if said := p.Doing(config, s.Process, s.ClientID()); said.Word != "" {
			now := Now{Does: State(said.Word), Since: said.Since.UTC(), Known: ByRecord, Background: said.Background}
			if p.DoingDir != "" {
				now.Dir = filepath.Join(config, p.DoingDir)
			}
			return now
		}
	}
	if s.Turn == "" || s.followed() && !look.held(RingLock(s.ID)) { // not reported, or the process that reported it has ended
		return Now{Does: Alive, Known: ByProcess}
	}
	return Now{Does: s.Turn, Since: s.Facts.TurnAt, Known: s.Facts.TurnBy}
}

// isElsewhere reports whether a row's process id belongs to another PID namespace. Only our facts
// have the namespace; a row without facts counts as one of our namespace.
func isElsewhere(r Row, f Facts, table ProcessTable) bool {
	return f.Namespace != "" && r.HasProcess(f.PID, f.StartTime) && !SameNamespace(f.Namespace, table.Namespace())
}

// setState finds out whether the client of a session lives. A process id alone proves nothing,
// because another process may have the id by now. The start time of the process is proof, and so is
// a lock that the session's server holds. Many sessions may share one process, which outlives each
// of them: such a session lives only if it is also open in the process.
func (look Prober) setState(s *Session, r Row) {
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
	start, visible, gone := r.Integer("pid_start_time"), s.PID > 0 && !isElsewhere(r, s.Facts, look.reg.Processes), false
	if visible {
		p, err := look.reg.Processes.Find(s.PID)
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
	case look.reg.Brief:
		s.State = Unknown
	case visible && start == NoStart:
		s.State = Absent
	case look.held(ServerLock(s.ID)): // the process that started the server has ended, but the server lives
		s.State = Alive
	case gone:
		s.State = Absent
	case look.held(RingLock(s.ID)):
		s.State = Alive
	default:
		s.State = Unknown
	}
}

// hasEnded reports whether a session is no longer open in its live process. It is open if its
// server runs; this cheap test comes first.
func (look Prober) hasEnded(s *Session) bool {
	p, _ := client.Find(s.Client)
	if p.Open == nil || len(s.ClientIDs) == 0 || look.held(ServerLock(s.ID)) {
		return false
	}
	of := look.said[s.PID]
	if of == nil {
		of = &shared{}
		of.open, of.known = look.reg.Processes.Opened(p, s.PID)
		look.said[s.PID] = of
	}
	id := s.ClientID()
	if !of.known || of.open[id] {
		return false
	}
	if !of.looked {
		of.looked, of.opening = true, p.Opening(of.open)
	}
	s.Opening = of.opening[id]
	return !s.Opening
}
