package callers

import (
	"slices"

	"c2c/client"
	"c2c/inbox/mail"
	"c2c/sessions"
)

// KnownBy says by what c2c knows that the caller is the session s: mail.ByProcess, mail.ByPerson or
// mail.ByClaim. It checks ancestors only if the session's own process can be seen.
func KnownBy(reg *sessions.Registry, rows []sessions.Row, s sessions.Session, c Caller) string {
	switch {
	case sessions.IsPersonID(s.ID):
		if c.User != nil && (c.Remote || CheckPerson(c, reg.Processes) == nil && isPersonsNamespace(reg, rows, s.ID)) { // a remote person has logged in
			return mail.ByPerson
		}
	case s.Process != 0 && isBelowOwn(reg, rows, s, c):
		return mail.ByProcess
	}
	return mail.ByClaim
}

// isBelowOwn reports whether the caller is the session's process, or runs below it without another
// session's process in between.
func isBelowOwn(reg *sessions.Registry, rows []sessions.Row, s sessions.Session, c Caller) bool {
	pid, child := c.PID, 0
	if pid <= 0 {
		if c.Remote {
			return false
		}
		pid = reg.Processes.Self()
	}
	for p := range ancestors(reg.Processes, pid) {
		if c.PID > 0 || child != 0 {
			own, others := boundTo(reg, rows, s.ID, p)
			if own {
				return isChosen(reg, s, c, child, others)
			}
			if others {
				return false
			}
		}
		child = p.PID
	}
	return false
}

// boundTo reports whether the session sid is bound to a process, and whether other sessions are
// bound to it.
func boundTo(reg *sessions.Registry, rows []sessions.Row, sid string, p sessions.Process) (own, others bool) {
	for _, r := range rows {
		if r.Integer("pid") == int64(p.PID) && reg.IsBoundTo(r, p) {
			own, others = own || r.SID() == sid, others || r.SID() != sid
		}
	}
	return own, others
}

// isChosen reports whether s is the caller's session, even if other sessions share its process. A
// client with a shared process names the session in the call, or in the environment of the shell
// that it starts. The argument child is the process of this shell. The environment of child counts,
// because a command in the shell may have changed its own.
func isChosen(reg *sessions.Registry, s sessions.Session, c Caller, child int, others bool) bool {
	p, _ := client.Find(s.Client)
	switch {
	case c.PID > 0:
		return !others || c.ClientID != "" || c.Claimed != ""
	case !p.SharedProcess:
		return !others
	}
	had := sessions.EnvironmentOf(reg.Processes.Environ(child))(p.SessionEnv)
	return had == "" && !others || slices.Contains(s.ClientIDs, had)
}

// starter returns the session whose client is the nearest ancestor of a process; "" if there is
// none. A client's daemon has no such session, because it also serves other terminals than the one
// that started it.
func starter(reg *sessions.Registry, rows []sessions.Row, process sessions.Process, clientName string) string {
	if client.IsDaemon(clientName, process.PID) {
		return ""
	}
	for p := range ancestors(reg.Processes, process.Parent) {
		for _, r := range rows {
			if r.Integer("pid") == int64(p.PID) && reg.IsBoundTo(r, p) {
				return r.SID()
			}
		}
	}
	return ""
}
