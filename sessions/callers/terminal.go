package callers

import (
	"cmp"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"c2c/internal/proc"
	"c2c/sessions"
)

// CheckPerson returns nil if no process and no variable shows that an agent has run this command.
// Every act that only a person may do asks it. A command that an agent has started stands below its
// client. One that has left its client behind is in the background, or in a terminal that neither a
// login nor a terminal program has opened. This stops accidents and what a model tries first. It
// does not stop a program of this user that wants to be taken for the person, for example one that
// types into a terminal of the person.
func CheckPerson(c Caller, table sessions.ProcessTable) error {
	if c.User == nil || !c.User.looked().Terminal {
		return sessions.ErrNoCaller
	}
	if !c.User.checked {
		c.User.checked = true
		c.User.why = cmp.Or(agentHere(c, table), c.User.why)
	}
	if c.User.why != "" {
		return &sessions.NoPersonError{Why: c.User.why}
	}
	return nil
}

// opener is a process of the chain behind a terminal: the leader of the process session, its
// parent, and so on.
type opener struct {
	sessions.Process
	name   string
	others bool // the process belongs to another user
}

// terminalHere returns the chain for this process. It returns nil if this process is not below the
// leader of its process session.
func terminalHere(table sessions.ProcessTable) (chain []opener) {
	leader, err := unix.Getsid(0)
	if err != nil {
		return nil
	}
	for p := range ancestors(table, table.Self()) {
		if len(chain) > 0 || p.PID == leader {
			uid, name, _ := proc.Owner(p.PID)
			chain = append(chain, opener{p, name, uid != os.Getuid()})
		} else if p.Parent == leader && leader == 1 { // process 1 of a container: the function ancestors leaves it out
			chain = append(chain, opener{Process: sessions.Process{PID: 1}})
		}
	}
	return chain
}

// noPerson says why no person can have opened a terminal; "" if a person can. An agent's terminal
// that has lost its parents belongs to init or a user's systemd, and only runners are between them
// and its leader. Programs of other users far above mean nothing, because WSL has such a one in the
// place of init.
func noPerson(chain []opener) (why string) {
	if len(chain) == 0 {
		return "this command was left in the background of its terminal"
	}
	for i, o := range chain[1:] {
		if !isRunner(o.name) && (i == 0 || !o.others) {
			return ""
		}
	}
	if chain[len(chain)-1].Parent != 1 { // from outside of this container, or by a user whose processes are hidden
		return ""
	}
	return "no login and no terminal program has opened this terminal"
}

// isRunner reports whether a program only starts others, or gives a command a terminal that nobody
// sees.
func isRunner(name string) bool {
	return strings.HasPrefix(name, "python") || strings.Contains(" "+sessions.Systemd+
		" sh bash dash ash zsh fish ksh busybox env nohup setsid timeout script expect unbuffer socat perl ruby ", " "+name+" ")
}
