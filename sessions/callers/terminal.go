package callers

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"c2c/process/procstat"
	"c2c/sessions"
	"c2c/sessions/facts"
	"c2c/sessions/processes"
)

// ErrTerminal says that an agent may have opened the terminal of this process.
var ErrTerminal = errors.New("an agent may have opened this terminal")

// terminal is the chain of processes behind the terminal of this process: the leader of the process session, the leader's parent, and so
// on. An agent can open a terminal (script, tmux), detach from its client (setsid) and empty its environment. But no agent can open a
// terminal that is older than its client, or one that a program of another user opens, for example at a login.
type terminal []opener

// pseudoTerminals is the major device number of pseudo-terminals on Linux.
const pseudoTerminals = 136

// opener is one process of the chain.
type opener struct {
	processes.Process
	name   string
	others bool // the process belongs to another user
	master bool // the process has the master side of the terminal open
}

// ProveTerminal returns nil only if the processes show that no agent of these sessions has opened the terminal of this process. It cannot
// detect an agent that types into its user's terminal, that makes an existing program open a window (tmux new-window), or that can log in.
func ProveTerminal(reg *sessions.Registry, sessionList ...sessions.Session) error {
	t := terminalHere(reg)
	for _, s := range sessionList {
		starts := Starts(reg, s)
		if len(starts) == 0 && isHere(reg, s) {
			starts = []int64{0} // c2c cannot see the process, and no terminal is older than 0. An agent of another namespace cannot reach terminals here.
		}
		if err := t.prove(s.Alias, starts...); err != nil {
			return err
		}
	}
	return nil
}

// ProveTerminalOlder returns nil only if the terminal of this process is older than a process of the session alias that started at the time
// start.
func ProveTerminalOlder(reg *sessions.Registry, alias string, start int64) error {
	return terminalHere(reg).prove(alias, start)
}

func (t terminal) prove(alias string, starts ...int64) error {
	for _, start := range starts {
		if !t.isOlder(start) {
			return fmt.Errorf("%w: none of its processes is older than the session %s", ErrTerminal, alias)
		}
	}
	return nil
}

// Starts returns the start times of the session's processes that run: of the present one, of the one in its facts (the row may have lost
// it), and of the former ones. It leaves out those that c2c cannot see.
func Starts(reg *sessions.Registry, s sessions.Session) (all []int64) {
	if p, err := reg.Processes.Find(s.Process); err == nil && s.Process != 0 && isHere(reg, s) {
		all = append(all, p.Start)
	}
	now := facts.Process{PID: s.Facts.PID, StartTime: s.Facts.StartTime, Namespace: s.Facts.Namespace}
	for _, p := range append([]facts.Process{now}, s.Facts.FormerProcesses...) {
		if runs, visible := running(reg, p); runs && visible && !processes.Adopts(s.Client, p.PID) && !slices.Contains(all, p.StartTime) {
			all = append(all, p.StartTime)
		}
	}
	return all
}

// isHere reports whether the session's process may be in our PID namespace.
func isHere(reg *sessions.Registry, s sessions.Session) bool {
	return s.Facts.Namespace == "" || processes.SameNamespace(s.Facts.Namespace, reg.Processes.Namespace())
}

// terminalHere returns the chain for this process. It returns nil if this process is not below the leader of its process session: then the
// process was left in the background, maybe by an agent in its user's own terminal.
func terminalHere(reg *sessions.Registry) (t terminal) {
	leader, err := unix.Getsid(0)
	if err != nil {
		return nil
	}
	number := -1
	if st, err := procstat.Read(reg.Processes.Self()); err == nil && unix.Major(st.Terminal) == pseudoTerminals {
		number = int(unix.Minor(st.Terminal))
	}
	for p := range ancestors(reg.Processes, reg.Processes.Self()) {
		if len(t) > 0 || p.PID == leader {
			uid, name, _ := procstat.Owner(p.PID)
			t = append(t, opener{p, name, uid != os.Getuid(), procstat.HasTerminal(p.PID, number)})
		} else if p.Parent == leader && leader == 1 { // process 1 of a container: the function ancestors leaves it out
			t = append(t, opener{Process: processes.Process{PID: 1}})
		}
	}
	return t
}

// isOlder reports whether the terminal is older than a process that started at the time start, or was opened by another user or from
// outside this namespace. Init and a user's systemd prove nothing: orphaned processes become their children.
func (t terminal) isOlder(start int64) bool {
	if len(t) == 0 {
		return false
	}
	if leader := t[0]; leader.Start < start || leader.PID != 1 && leader.Parent == 0 { // 0: the parent is outside this namespace
		return true
	}
	for i, o := range t[1:] {
		switch older := o.Start < start && !o.others && o.name != processes.Systemd; {
		case o.others && (i == 0 || strings.HasPrefix(o.name, "sshd")):
			return true
		case older && (i == 0 && o.master || i == 1 && t[1].master):
			return true
		}
	}
	return false
}
