package callers

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"c2c/process/procstat"
	"c2c/sessions"
	"c2c/sessions/processes"
)

// ErrTerminal says that an agent may have opened the terminal of this process.
var ErrTerminal = errors.New("c2c cannot tell this terminal from one that an agent has opened")

// terminal is what can be seen of the terminal of this process: the leader of its session, what has started that, and so on.
// An agent can open a terminal (script, tmux), leave its client's processes (setsid) and empty its environment. It cannot open
// one that was there before its client, nor one that a program of another user gives out, as a login does.
type terminal []opener

// pseudoTerminals is their major number on Linux.
const pseudoTerminals = 136

// opener is one of these processes.
type opener struct {
	processes.Process
	name   string
	others bool // it is not this user's
	master bool // it is the program behind the terminal
}

// ProveTerminal fails unless it can be seen that no agent below the client of one of these sessions has opened the terminal
// of this process. What it does not see is an agent that types into a terminal of its
// person's, has such a program open a window (tmux new-window), or may log in.
func ProveTerminal(reg *sessions.Registry, sessionList ...sessions.Session) error {
	t := terminalHere(reg)
	for _, s := range sessionList {
		if s.Facts.Namespace != "" && !processes.SameNamespace(s.Facts.Namespace, reg.Processes.Namespace()) {
			continue // its agent reaches no terminal of this namespace
		}
		p, _ := reg.Processes.Find(s.Process) // nothing is older than one that cannot be seen
		if !t.isOlder(p.Start) {
			return fmt.Errorf("%w: nothing of it is older than the session %s", ErrTerminal, s.Alias)
		}
	}
	return nil
}

// terminalHere is empty for a process that its leader does not stand above: that was left in the background, maybe by an agent
// in its person's own terminal.
func terminalHere(reg *sessions.Registry) (t terminal) {
	leader, err := unix.Getsid(0)
	if err != nil {
		return nil
	}
	number := -1
	if st, err := procstat.Read(reg.Processes.Self()); err == nil && unix.Major(st.Terminal) == pseudoTerminals {
		number = int(unix.Minor(st.Terminal))
	}
	for p := range ancestors(reg, reg.Processes.Self()) {
		if len(t) > 0 || p.PID == leader {
			uid, name, _ := procstat.Owner(p.PID)
			t = append(t, opener{p, name, uid != os.Getuid(), procstat.HasTerminal(p.PID, number)})
		} else if p.Parent == leader && leader == 1 { // the first process of a container, where the walk ends
			t = append(t, opener{Process: processes.Process{PID: 1}})
		}
	}
	return t
}

// isOlder says whether the terminal was there before a process that was started then, or comes from outside. Init and the
// systemd of a user prove nothing: they are given the processes whose parent has ended.
func (t terminal) isOlder(then int64) bool {
	if len(t) == 0 {
		return false
	}
	if leader := t[0]; leader.Start < then || leader.PID != 1 && leader.Parent == 0 { // 0: it stands outside of this namespace
		return true
	}
	for i, o := range t[1:] {
		switch older := o.Start < then && !o.others && o.name != "systemd"; {
		case o.others && (i == 0 || strings.HasPrefix(o.name, "sshd")):
			return true
		case older && (i == 0 && o.master || i == 1 && t[1].master):
			return true
		}
	}
	return false
}
