package callers

import (
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"c2c/inbox/atomicfile"
	"c2c/process/procstat"
	"c2c/project"
	"c2c/sessions"
	"c2c/sessions/processes"
	"c2c/sessions/registry"
)

// CheckPerson returns nil if no process shows that an agent has run this command: c2c's only check for that. A command that an agent has
// started stands below its client. One that has left its client behind is in the background, or in a terminal that no login has opened.
// This stops accidents and what a model tries first. It does not stop a program of this user that wants to be taken for the person, for
// example one that types into a terminal of the person.
func CheckPerson(c Caller, table processes.Table) error {
	if c.User == nil || !c.User.looked().Terminal {
		return sessions.ErrNoCaller
	}
	if alias := sessionAbove(table, c.Getenv); alias != "" {
		return &sessions.NoPersonError{Why: "this is the shell of " + alias}
	}
	if c.User.why != "" {
		return &sessions.NoPersonError{Why: c.User.why}
	}
	return nil
}

// sessionAbove returns the alias of a session, in any of the user's roots, whose client is an ancestor of this process; "" if there is none.
func sessionAbove(table processes.Table, getenv func(string) string) (alias string) {
	if getenv == nil {
		return ""
	}
	above := map[int64]int64{}
	for p := range ancestors(table, table.Self()) {
		above[int64(p.PID)] = p.Start
	}
	for _, state := range project.States(getenv) {
		repos, _ := os.ReadDir(filepath.Join(state, project.ReposDir))
		for _, repo := range repos {
			data, _ := atomicfile.ReadForeign(filepath.Join(state, project.ReposDir, repo.Name(), "broker", registry.FileName), registry.MaxBytes)
			rows, _ := registry.ParseRegistry(data) // a damaged one is repaired by the commands of its own project
			for _, r := range rows {
				if start, is := above[r.Integer("pid")]; is && start == r.Integer("pid_start_time") {
					return r.Alias()
				}
			}
		}
	}
	return ""
}

// opener is a process of the chain behind a terminal: the leader of the process session, its parent, and so on.
type opener struct {
	processes.Process
	name   string
	others bool // the process belongs to another user
}

// terminalHere returns the chain for this process. It returns nil if this process is not below the leader of its process session.
func terminalHere(table processes.Table) (chain []opener) {
	leader, err := unix.Getsid(0)
	if err != nil {
		return nil
	}
	for p := range ancestors(table, table.Self()) {
		if len(chain) > 0 || p.PID == leader {
			uid, name, _ := procstat.Owner(p.PID)
			chain = append(chain, opener{p, name, uid != os.Getuid()})
		} else if p.Parent == leader && leader == 1 { // process 1 of a container: the function ancestors leaves it out
			chain = append(chain, opener{Process: processes.Process{PID: 1}})
		}
	}
	return chain
}

// noPerson says why no person can have opened a terminal; "" if a person can. An agent's terminal that has lost its parents belongs to
// init or a user's systemd, and only runners are between them and its leader. Programs of other users far above mean nothing, because
// WSL has such a one in the place of init.
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

// isRunner reports whether a program only starts others, or gives a command a terminal that nobody sees.
func isRunner(name string) bool {
	return strings.HasPrefix(name, "python") || strings.Contains(" "+processes.Systemd+
		" sh bash dash ash zsh fish ksh busybox env nohup setsid timeout script expect unbuffer socat perl ruby ", " "+name+" ")
}
