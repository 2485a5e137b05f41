package callers

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"c2c/client"
	"c2c/sessions"
)

// User is a person at a terminal. In each root a person has a mailbox that no agent can use.
type User struct {
	UID      int
	Login    string // login name, see Name
	Terminal bool   // the caller has a controlling terminal
	Typing   bool   // the caller's standard input is a terminal

	look    func(*User) // sets Terminal, Typing and why; nil: they are known
	why     string      // why no person can have run the command; see noPerson and CheckPerson
	checked bool        // CheckPerson has looked for an agent
}

// looked returns u with Terminal, Typing and why set. Call it only if nothing else identifies the
// caller, because it opens the terminal.
func (u *User) looked() *User {
	if u.look != nil {
		u.look(u)
		u.look = nil
	}
	return u
}

// IsTyping reports whether a person types at a terminal here.
func (u *User) IsTyping() bool { return u.looked().Terminal && u.Typing }

// UserHere returns the person at this terminal. The argument stdin is the standard input.
func UserHere(getenv func(string) string, stdin io.Reader) *User {
	u := &User{UID: os.Getuid(), Login: getenv("USER")}
	u.look = func(u *User) {
		if tty, err := os.Open("/dev/tty"); err == nil {
			u.Terminal = true
			tty.Close()
			u.why = noPerson(terminalHere(new(sessions.SystemProcesses)))
		}
		if in, ok := stdin.(*os.File); ok {
			_, err := unix.IoctlGetWinsize(int(in.Fd()), unix.TIOCGWINSZ)
			u.Typing = err == nil
		}
	}
	return u
}

// Name returns the login name, which is the first alias of the person's mailbox if it is free. It
// reads /etc/passwd only if the environment has no login name.
func (u *User) Name() string {
	if u.Login == "" {
		// Do not use os/user: with cgo, it would link the C library's name services into the whole
		// program.
		data, _ := os.ReadFile("/etc/passwd")
		for line := range strings.Lines(string(data)) {
			if f := strings.Split(line, ":"); len(f) > 2 && f[2] == strconv.Itoa(u.UID) {
				u.Login = f[0]
				break
			}
		}
	}
	return u.Login
}

func (u *User) sid() string { return sessions.PersonPrefix + strconv.Itoa(u.UID) }

// ClientWire is the client name of a session whose mail a wire daemon carries. The daemon counts as
// the session's process, and starts one agent after another.
const ClientWire = "wire"

// firstAlias returns the alias that a person's new mailbox gets.
func (u *User) firstAlias(rows []sessions.Row) string {
	alias := u.Name()
	if sessions.CheckAlias(alias) != nil {
		alias = u.sid()
	}
	return sessions.FreeAlias(rows, alias)
}

// IsPerson reports whether only a person can have called: no agent has set a variable, and no
// session was named.
func (c Caller) IsPerson() bool {
	return c.isPerson() && c.Explicit == "" && c.env("C2C_MCP_SESSION_ID") == ""
}

// isPerson reports whether the caller can only be the person: no agent has set a variable in the
// environment.
func (c Caller) isPerson() bool { return c.User != nil && c.Client == "" && len(c.clientIDs()) == 0 }

// personHere returns the person's session if CheckPerson finds no agent, and the caller is in the
// person's PID namespace: in another one, an agent's process has no agent as ancestor.
func personHere(reg *sessions.Registry, rows []sessions.Row, c Caller) (string, error) {
	if err := CheckPerson(c, reg.Processes); err != nil {
		return "", err
	}
	if !isPersonsNamespace(reg, rows, c.User.sid()) {
		return "", sessions.ErrNoCaller
	}
	return c.User.sid(), nil
}

// isPersonsNamespace reports whether this process is in a person's PID namespace. A reboot makes no
// difference. If the person's namespace is not known, isPersonsNamespace returns false if this
// process may be in an agent's sandbox, that is, if it is not in the machine's first namespace, and
// a session is alive in another namespace.
func isPersonsNamespace(reg *sessions.Registry, rows []sessions.Row, sid string) bool {
	here, _, _ := strings.Cut(reg.Processes.Namespace(), " ")
	there, _, _ := strings.Cut(reg.Facts.Of(sid).Namespace, " ")
	if here == "" || there != "" {
		return here != "" && there == here
	}
	if here == sessions.FirstNamespace {
		return true
	}
	return !slices.ContainsFunc(rows, func(r sessions.Row) bool {
		its := reg.Facts.Of(r.SID()).Namespace
		return its != "" && !sessions.SameNamespace(its, reg.Processes.Namespace()) && reg.State(r) == sessions.Alive
	})
}

// checkPerson returns an error if sid is the session of a person who is not the caller, or of a
// sender outside. C2C_MCP_SESSION_ID cannot name a person's session, because agents inherit the
// variable.
func checkPerson(reg *sessions.Registry, rows []sessions.Row, sid string, c Caller) error {
	if !sessions.IsPersonID(sid) {
		return sessions.CheckExternal(sid)
	}
	if c.isPerson() && c.User.sid() == sid && c.PID == 0 && c.env("C2C_MCP_SESSION_ID") == "" {
		near, err := nearestAncestor(reg, rows, c)
		if err == nil && (near == "" || c.User.looked().Typing && !isAgent(reg, rows, near)) {
			return nil
		}
	}
	return fmt.Errorf("session %q belongs to a person, and no agent may use it", sid)
}

// isAgent reports whether the session's client has a profile, and so is an AI program. A client
// without a profile may be an editor.
func isAgent(reg *sessions.Registry, rows []sessions.Row, sid string) bool {
	_, known := client.Find(reg.Session(rows[sessions.FindSID(rows, sid)]).Client)
	return known
}
