package callers

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"c2c/client"
	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
	"c2c/project"
	"c2c/sessions"
)

// A session that runs keeps its root, wherever its client and its commands are. So a caller's root
// is first looked up by the caller, and only a caller that no session owns gets the root of its
// working directory. The directory Pointers makes that possible without a search: it has a file for
// each client process, and for the client's id of a session that shares a process or whose hooks
// run the script.

// Pointers returns the directory of the files that lead to mailboxes. The argument state is
// project.StateDir; if it is "", so is the result.
func Pointers(state string) string {
	if state == "" {
		return ""
	}
	return filepath.Join(state, "pointers")
}

// PointerPath returns the path of the file for a client's id of a session, or "" if the id cannot
// be a file name. The hook script reads the first line.
func PointerPath(state, clientID string) string {
	if state == "" || !mail.ValidName(clientID) {
		return ""
	}
	return filepath.Join(Pointers(state), clientID)
}

// ofProcess is the name of the file for a process. No client's id can be this name. A HOME may be
// used from several PID namespaces.
func ofProcess(namespace string, pid int) string {
	first, _, _ := strings.Cut(namespace, " ")
	return filepath.Base(first) + ":" + strconv.Itoa(pid)
}

// pointer is the content of a file: the mailbox of a session, and the process in which the session
// runs.
type pointer struct {
	mailbox, client string
	pid             int
	start           int64 // of the process
	namespace       string
}

func (p pointer) text() string {
	return fmt.Sprintf("%s\n%s %d %d %s\n", p.mailbox, p.client, p.pid, p.start, p.namespace)
}

func parsePointer(text string) (p pointer) {
	mailbox, rest, _ := strings.Cut(text, "\n")
	words := strings.SplitN(strings.TrimSuffix(rest, "\n"), " ", 4)
	if len(words) < 4 { // not of this form
		return p
	}
	p = pointer{mailbox: mailbox, client: words[0]}
	p.pid, _ = strconv.Atoi(words[1])
	p.start, _ = strconv.ParseInt(words[2], 10, 64)
	p.namespace = words[3]
	return p
}

// Point makes the file at path lead to the session s, which is in the given root.
func Point(path, root string, s sessions.Session) error {
	box := filepath.Join(root, s.ID)
	if path == "" || strings.ContainsAny(box, "\n\x00") {
		return nil
	}
	dir, err := atomicfile.Create(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	name, text := filepath.Base(path), pointer{box, s.Client, s.Facts.PID, s.Facts.StartTime, s.Facts.Namespace}.text()
	if old, err := dir.Read(name); err == nil && string(old) == text {
		return nil
	}
	return dir.WriteUnsynced(name, []byte(text)) // it replaces a FIFO or a link, too; no process survives a power cut
}

// maxPointer bounds how much of a file in the directory of pointers is read.
const maxPointer = 64 << 10

// point makes the process of a session that was just bound to it lead to the session, or if the
// process has many sessions, the client's id. It removes the file of the session's process before,
// if that has ended. It is not called under the registry's lock, because it only helps: if c2c is
// killed before, the root of the process is that of its directory.
//
// Root finds only a root below a state directory in this way. If the process alone does not own a
// root, its file names no client, and only shows that an agent runs there: a client without a
// profile may be an editor, in which a person works in several projects, and over HTTP a process
// may have sessions in several projects.
func (a *Attachment) point(reg *sessions.Registry) {
	p, known := client.Find(a.client)
	state := project.StateOf(reg.Root())
	if state == "" && reg.Getenv != nil {
		state, _ = project.StateDir(reg.Getenv)
	}
	if a.process.PID == 0 || !filepath.IsAbs(state) {
		return
	}
	shared := p.SharedProcess || a.Caller.serves
	path := filepath.Join(Pointers(state), ofProcess(reg.Processes.Namespace(), a.process.PID))
	s := sessions.Session{ID: a.sid, Client: p.Name, Facts: sessions.Facts{PID: a.process.PID, StartTime: a.process.Start, Namespace: reg.Processes.Namespace()}}
	var err error
	if known && shared && mail.ValidName(a.id) {
		err = Point(filepath.Join(Pointers(state), a.id), reg.Root(), s)
	}
	if !known || shared || a.Caller.Remote {
		s.Client = ""
	}
	old, _ := atomicfile.ReadForeign(path, maxPointer)
	if s.Client != "" || parsePointer(string(old)).start != a.process.Start {
		err = errors.Join(err, Point(path, reg.Root(), s))
	}
	if err != nil {
		reg.Log.Warn("the root of a process was not recorded", "session", a.sid, "err", err)
	}
	if a.before.PID == 0 || a.before.PID == s.Facts.PID && a.before.Namespace == s.Facts.Namespace {
		return
	}
	if dir, err := atomicfile.Open(Pointers(state)); err == nil {
		defer dir.Close()
		o, old := owners{dir, state, reg.Processes}, ofProcess(a.before.Namespace, a.before.PID)
		if p := o.read(old); p.mailbox == filepath.Join(reg.Root(), a.sid) && !o.mayRun(p) {
			dir.Remove(old) // if it fails, only a small file stays
		}
	}
}

// owners looks up files in Pointers.
type owners struct {
	dir   *atomicfile.Dir
	state string
	table sessions.ProcessTable
}

// IsAgent reports whether an agent seems to read what this program prints: it chooses the words of
// a hint. CheckPerson decides what is allowed.
func IsAgent(getenv func(string) string) bool {
	return agentHere(Caller{Getenv: getenv}, new(sessions.SystemProcesses)) != ""
}

// agentHere says whose shell this is if a variable or a client above this process shows an agent.
// It returns "" if nothing does.
func agentHere(c Caller, table sessions.ProcessTable) (why string) {
	if len(c.clientIDs()) > 0 || c.env("C2C_MCP_SESSION_ID") != "" {
		return sessions.InShellOf("").Why
	}
	for _, state := range project.States(c.env) {
		o, err := openOwners(state, table)
		if err != nil {
			continue
		}
		defer o.dir.Close()
		near := o.nearest()
		if near.pid == 0 {
			continue
		}
		root := filepath.Dir(near.mailbox)
		data, _ := atomicfile.ReadForeign(filepath.Join(cmp.Or(project.RootAt(state, root), root), sessions.RegistryFileName), sessions.MaxRegistryBytes)
		rows, _ := sessions.ParseRegistry(data) // a damaged one is repaired by the commands of its own project
		i := sessions.FindSID(rows, filepath.Base(near.mailbox))
		if i >= 0 && near.client != "" { // else the process may have other sessions, too
			return sessions.InShellOf(rows[i].Alias()).Why
		}
		return sessions.InShellOf("").Why
	}
	return ""
}

// Root returns the root of the running session that owns the caller; "" if there is none. A session
// has ended when its process has, so a conversation that is opened again in another project belongs
// to that project.
//
// The client's id in the call comes first, then the client's process. If neither is given, as in a
// shell, the variables count that clients below the nearest process with a session have set, and
// then this process.
func Root(table sessions.ProcessTable, c Caller) string {
	state, _ := project.StateDir(c.env)
	if c.Remote || c.Start != "" {
		return "" // the caller names a directory
	}
	o, err := openOwners(state, table)
	if err != nil {
		return ""
	}
	defer o.dir.Close()
	if root := o.root(o.byID(clientID{client.Name(c.Client), c.ClientID})); root != "" {
		return root
	}
	if c.PID > 0 {
		return o.owned(o.ofProcess(c.PID))
	}
	if c.ClientID != "" {
		return ""
	}
	near := o.nearest()
	for _, id := range c.clientIDs() {
		if near.client == id.client {
			continue
		}
		profile, _ := client.Find(id.client)
		var environ []string
		if near.pid != 0 {
			environ = o.table.Environ(near.pid)
		}
		p := o.byID(id)
		root := o.root(p)
		switch {
		case slices.Contains(environ, profile.SessionEnv+"="+id.id):
		case p.namespace == o.table.Namespace() && !o.isInside(near, p.pid):
		case root != "":
			return root
		case p.pid == 0 && environ != nil:
			return "" // a client that has no session yet runs below near
		}
	}
	return o.owned(near)
}

// isInside reports whether a process is between us and the client near, or near itself, or if near
// is zero, any process above us. A server of terminals that a client has started gives the client's
// variable to a person's shell, too, and the client is not above that.
func (o owners) isInside(near pointer, pid int) bool {
	if pid == o.table.Self() {
		return true // a shell has replaced itself by this program
	}
	for p := range above(o.table) {
		if p.PID == pid || p.PID == near.pid {
			return p.PID == pid
		}
	}
	return false
}

func openOwners(state string, table sessions.ProcessTable) (o owners, err error) {
	dir, err := atomicfile.Open(Pointers(state))
	return owners{dir, state, sessions.FindOnce(table)}, err
}

// nearest returns the pointer of the nearest client above our process; zero if no client above us
// has a session.
func (o owners) nearest() pointer {
	for p := range above(o.table) {
		if near := o.ofProcess(p.PID); near.pid != 0 && near.start == p.Start {
			return near
		}
	}
	return pointer{}
}

func (o owners) read(name string) pointer {
	data, err := o.dir.Read(name)
	if err != nil {
		return pointer{}
	}
	return parsePointer(string(data))
}

func (o owners) ofProcess(pid int) pointer {
	here := o.table.Namespace()
	p := o.read(ofProcess(here, pid))
	if p.pid != pid || p.namespace != here {
		return pointer{}
	}
	return p
}

// byID returns the pointer of a client's id; zero if there is none.
func (o owners) byID(id clientID) pointer {
	if mail.ValidName(id.id) {
		if p := o.read(id.id); p.client == id.client {
			return p
		}
	}
	return pointer{}
}

// owned is root, for the pointer of a process that owns its root.
func (o owners) owned(p pointer) string {
	if p.client == "" {
		return ""
	}
	return o.root(p)
}

// root returns the root to which a pointer leads, if the session may run. Only a root in our own
// state directory counts, whatever the file says.
func (o owners) root(p pointer) string {
	if !o.mayRun(p) {
		return ""
	}
	return project.RootAt(o.state, filepath.Dir(p.mailbox))
}

// mayRun reports whether the process of a pointer may run. The process of another PID namespace
// cannot be seen, so it may run. So a conversation of a container that was removed is opened here
// in the root that it had there; its file then names a process here.
func (o owners) mayRun(p pointer) bool {
	here := o.table.Namespace()
	if p.pid == 0 || p.namespace != here {
		return p.pid != 0 && !sessions.SameNamespace(p.namespace, here) // the same namespace before a reboot
	}
	now, err := o.table.Find(p.pid)
	return !errors.Is(err, sessions.ErrNoProcess) && (err != nil || now.Start == p.start)
}
