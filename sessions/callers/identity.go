package callers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"c2c/client"
	"c2c/inbox/mail"
	"c2c/sessions"
)

// Caller has everything that may identify the session for which one of our programs runs.
type Caller struct {
	// Explicit is a session id or an alias that a user typed.
	Explicit string
	// Start is the alias that was given to c2c start. It means a session that has the alias and
	// does not run, otherwise a new one.
	Start string
	// Lacks is what the client lacks because c2c start could not set c2c up in it.
	Lacks string
	// User is the user of this terminal. This person calls, unless an agent calls. nil: the caller
	// cannot be a person.
	User *User
	// Client is the AI program that called, "human" for a person who registers, or empty in a plain
	// shell. c2c may have no profile of it.
	Client string
	// ClientID is the client's own session id as given in this very call: a hook's stdin, an MCP
	// call's _meta. It never comes from the environment.
	ClientID string
	// Claimed is a client's session id that the model itself may have written. It counts only if
	// c2c has seen that session in this very process.
	Claimed string
	// Getenv looks up the caller's environment; nil: the environment is empty.
	Getenv func(string) string
	// PID is the client's process, if the caller knows it. If PID is zero, Resolve searches the
	// ancestors.
	PID int
	// ByHook means that a hook has found PID in a variable, which any program may set, or as its
	// parent, which may have adopted the hook. No session is bound to such a process unless it is
	// above us and no adopter (see sessions.Adopts).
	ByHook bool
	// Follows means that this call of a hook begins neither a conversation nor a turn. If the
	// session has left the conversation ClientID, the hook is late, and the session stays in its
	// present conversation.
	Follows bool
	// Last is the session that an earlier call of the same server found. Resolve uses it if nothing
	// else identifies the session, for example if c2c cannot see the client's process.
	Last string
	// Remote means that the caller is neither our process nor an ancestor of it, for example over
	// HTTP. Then ClientID, Claimed, Last and PID count, in this order, and Resolve does not search
	// our ancestors.
	Remote bool
	// Transport is how the caller's tools reach us: TransportHTTP or TransportStdio; empty: the
	// caller has called no tool.
	Transport string
	// A session that has not chosen an alias gets Alias, if it is free.
	Alias string
	// Proposed means that Alias comes from a project's file, which anybody may have written.
	// Therefore an absent session that has this alias keeps the alias and its mail.
	Proposed bool

	// Brief is for a caller in a plain shell that need not know whether the session's client lives.
	// Then State is Unknown if c2c cannot see that the client's process lives: c2c tests no locks
	// to find out more.
	Brief bool

	serves bool // a file of the client shows that its process serves many sessions
}

// Looked returns c with the field serves set. It reads the client's files, so call it before the
// registry is locked.
func (c Caller) Looked() Caller {
	p, _ := client.Find(c.Client)
	_, c.serves = p.Server(c.PID, c.Getenv)
	return c
}

// withProcessAbove returns c without its PID if a hook calls, and PID is no client above our
// process. If c2c cannot see the process, PID stays: a sandbox may hide the client, and no session
// is bound to a hidden process.
func (c Caller) withProcessAbove(reg *sessions.Registry) Caller {
	if _, err := reg.Processes.Find(c.PID); !c.ByHook || err != nil {
		return c
	}
	for p := range ancestors(reg.Processes, reg.Processes.Self()) {
		if p.Parent == c.PID {
			if sessions.Adopts(c.Client, c.PID) { // the client has ended, so another process has its hook
				c.PID = 0
			}
			return c
		}
	}
	reg.Log.Warn("a variable names a client process that is not above this process", "client", c.Client, "pid", c.PID)
	c.PID = 0
	return c
}

func (c Caller) env(name string) string {
	if c.Getenv == nil || name == "" {
		return ""
	}
	return strings.TrimSpace(c.Getenv(name))
}

// isNamedByEnvironment reports whether C2C_MCP_SESSION_ID names the session and nothing shows that
// a client calls. If so, an unknown session is an error, because the variable may be mistyped. A
// client, however, may set the variable before its session is registered.
func (c Caller) isNamedByEnvironment(sid string) bool {
	return c.Client == "" && c.PID == 0 && len(c.clientIDs()) == 0 && sid == c.env("C2C_MCP_SESSION_ID")
}

// maxAncestors bounds the walk from a process towards init.
const maxAncestors = 64

// Resolve finds the caller's session and changes nothing. Callers may test for ErrNoSession and
// ErrAmbiguous.
//
// It tries in this order, as docs/inside/sessions.md explains: the typed name, the client's id in
// this call, C2C_MCP_SESSION_ID, the client's process, the client's variable if it can be trusted,
// the nearest ancestor that has a session.
func Resolve(ctx context.Context, reg *sessions.Registry, c Caller) (sessions.Session, error) {
	rows, err := reg.Rows(ctx)
	if err != nil {
		return sessions.Session{}, err
	}
	reg = reg.Glance()
	reg.Brief = c.Brief && c.Client == "" && c.Start == ""
	sid, err := resolve(reg, rows, c.Looked())
	if errors.Is(err, sessions.ErrNoSession) && c.Explicit != "" {
		return sessions.Session{}, &sessions.UnknownAliasError{Alias: c.Explicit}
	}
	if err != nil {
		return sessions.Session{}, err
	}
	if sid == "" {
		return sessions.Session{}, sessions.ErrNoCaller
	}
	i := sessions.FindSID(rows, sid)
	if i < 0 && c.Explicit != "" {
		return sessions.Session{}, sessions.UnknownAlias(reg, rows, c.Explicit)
	}
	if i < 0 && c.isNamedByEnvironment(sid) {
		return sessions.Session{}, &sessions.UnknownAliasError{Alias: sid}
	}
	if i < 0 {
		return sessions.Session{}, fmt.Errorf("session %q is not registered: %w", sid, sessions.ErrNoSession)
	}
	s := reg.Session(rows[i])
	s.KnownBy = KnownBy(reg, rows, s, c)
	return s, nil
}

// resolve returns the id of the caller's session, which may be unregistered; "" if nothing names a
// session.
func resolve(reg *sessions.Registry, rows []sessions.Row, c Caller) (string, error) {
	if c.Remote {
		return sidOfRemote(reg, rows, c)
	}
	if c.Start != "" {
		return sidToStart(reg, rows, c)
	}
	if c.Explicit != "" {
		sid, err := SIDByName(rows, c.Explicit)
		if err == nil {
			err = checkPerson(reg, rows, sid, c)
		}
		return sid, err
	}
	if c.ClientID != "" {
		sid, err := sidOfID(reg, rows, c, clientID{c.Client, c.ClientID})
		if sid != "" || err != nil {
			return sid, err
		}
		// All later checks use the client's process. If several sessions share it (Codex's daemon),
		// the process does not show which one calls.
		if p, _ := client.Find(c.Client); p.SharedProcess || c.serves {
			return sidOfStart(reg, c, p), nil
		}
	}
	if sid, err := claimed(reg, c); sid != "" || err != nil {
		return sid, err
	}
	if sid := c.env("C2C_MCP_SESSION_ID"); sid != "" && !isInherited(reg, rows, sid, c) {
		// The value is never taken as an alias, because another session may have the alias by now.
		return sid, errors.Join(checkSID(sid), checkPerson(reg, rows, sid, c))
	}
	if c.PID > 0 {
		// Check the process before the client's variable: /clear and /resume change Claude Code's
		// session, but its MCP server keeps the environment with which it was started.
		if p, err := reg.Processes.Find(c.PID); err == nil {
			if sid, err := sidOfProcess(reg, rows, p, c.Client); sid != "" || err != nil {
				return sid, err
			}
		}
		if sid, err := fromEnv(reg, rows, c, ""); sid != "" || err != nil {
			return sid, err
		}
		if sessions.FindSID(rows, c.Last) >= 0 {
			return c.Last, nil
		}
		return "", nil
	}
	near, err := nearestAncestor(reg, rows, c)
	if err != nil {
		return "", err
	}
	if sid, err := fromEnv(reg, rows, c, near); sid != "" || err != nil {
		return sid, err
	}
	if near == "" && c.isPerson() {
		return personHere(reg, rows, c)
	}
	return near, nil
}

// sidOfID returns the session to which a client's own id belongs, or "" if there is none. A live
// window that goes on with another conversation (/clear) keeps its mailbox. If the old conversation
// is then opened in another window, sidOfID returns "", so that this window gets a new mailbox.
func sidOfID(reg *sessions.Registry, rows []sessions.Row, c Caller, id clientID) (string, error) {
	sid, err := reg.Facts.SidOf(id.client, id.id)
	i := sessions.FindSID(rows, sid)
	if err != nil || i < 0 || c.PID == 0 || rows[i].Integer("pid") == int64(c.PID) {
		return sid, err
	}
	if s := reg.Session(rows[i]); s.Process != 0 && len(s.ClientIDs) > 0 && s.ClientID() != id.id {
		return "", nil
	}
	return sid, nil
}

// isInherited reports whether C2C_MCP_SESSION_ID belongs to another client than the caller's, or to
// a session that the caller's client has left. c2c start sets the variable, and all programs below
// the client inherit it. One of them may be another client, in the first client's shell or in a
// terminal that was opened from this shell.
func isInherited(reg *sessions.Registry, rows []sessions.Row, sid string, c Caller) bool {
	i := sessions.FindSID(rows, sid)
	if i < 0 {
		return false
	}
	s := reg.Session(rows[i])
	_, known := client.Find(s.Client)
	if s.Client == ClientWire {
		_, known = client.Find(c.Client) // ClientWire itself has no profile, so look for that of the agent
	}
	own, named := sidHere(reg, rows, c)
	switch {
	case s.Client == ClientWire && s.Process != 0 && c.PID > 0:
		agent, err := reg.Processes.Find(c.PID)
		return err != nil || agent.Parent != s.Process
	case c.PID > 0 && own == sid:
		return false
	case known && c.Client != "" && client.Name(c.Client) != s.Client && s.PID != 0 && s.State != sessions.Absent:
		return true // even if c2c cannot see the process of the session's client
	case slices.ContainsFunc(c.clientIDs(), func(id clientID) bool { return isBelow(reg, s, id) }):
		return true
	case own == sid || wasGiven(reg, s, c):
		return false
	case named && (s.Facts.Started || len(s.ClientIDs) > 0):
		return true // perhaps the client was started with the session sid, and has since resumed the session that own names
	case s.Process == 0 || s.Facts.Started && s.Client != ClientWire: // until the client reports its id, s.Process may be a launcher
		return false
	}
	return own != "" || c.PID > 0 && !DescendsFrom(reg, s, c.PID)
}

// wasGiven reports whether the caller's client has set C2C_MCP_SESSION_ID for the caller, and was
// not itself started with this value. A client process that runs several sessions sets the variable
// for the MCP server of each. The session s must have run in this process.
func wasGiven(reg *sessions.Registry, s sessions.Session, c Caller) bool {
	if c.PID <= 0 || s.Facts.PID != c.PID {
		return false
	}
	p, err := reg.Processes.Find(c.PID)
	if err != nil || s.Facts.StartTime != p.Start || s.Facts.Namespace != reg.Processes.Namespace() {
		return false
	}
	had := reg.Processes.Environ(p.PID)
	return had != nil && !slices.Contains(had, "C2C_MCP_SESSION_ID="+s.ID)
}

// sidHere returns the session of the caller's process, or of the nearest ancestor that has one.
// named is true if the session's client has given the session an id, and has only one session at a
// time.
func sidHere(reg *sessions.Registry, rows []sessions.Row, c Caller) (sid string, named bool) {
	var err error
	if c.PID == 0 {
		sid, err = nearestAncestor(reg, rows, c)
	} else if p, failed := reg.Processes.Find(c.PID); failed == nil {
		sid, err = sidOfProcess(reg, rows, p, c.Client)
	}
	i := sessions.FindSID(rows, sid)
	if err != nil || i < 0 {
		return "", false
	}
	s := reg.Session(rows[i])
	p, known := client.Find(s.Client)
	return sid, known && len(s.ClientIDs) > 0 && !p.SharedProcess && !c.serves
}

// sidOfStart returns the mailbox for which the terminal of a client was started, as the environment
// names it. The client's first session gets it. A session that the same process begins later gets
// it too, if the client has only one window (SessionServer): /clear keeps the mailbox, as it does
// in any client.
func sidOfStart(reg *sessions.Registry, c Caller, p client.Profile) string {
	sid := cmp.Or(c.env(client.StartEnv), c.env("C2C_MCP_SESSION_ID"))
	if !p.Plugin || checkSID(sid) != nil || sessions.IsPersonID(sid) || sessions.CheckExternal(sid) != nil {
		return ""
	}
	f := reg.Facts.Of(sid)
	if taken := !f.Started && len(f.ClientIDs) > 0; taken && !(p.SessionServer && f.PID == c.PID && c.PID != 0) || !sameClient(f.Client, c.Client) {
		return ""
	}
	return sid
}

// claimed returns the session whose id the caller claims. It returns an error unless this session
// was bound to the caller's process. The process alone does not prove the claim, because it may
// have other sessions.
func claimed(reg *sessions.Registry, c Caller) (string, error) {
	if c.Claimed == "" {
		return "", nil
	}
	sid, err := reg.Facts.SidOf(c.Client, c.Claimed)
	if err != nil {
		return "", err
	}
	p, err := reg.Processes.Find(c.PID)
	if f := reg.Facts.Of(sid); err != nil || sid == "" || f.PID != p.PID || f.StartTime != p.Start || f.Namespace != reg.Processes.Namespace() {
		return "", fmt.Errorf("c2c's plugin has not named session %q of this client; call again, or restart the client: %w", c.Claimed, sessions.ErrNoSession)
	}
	return sid, nil
}

// sidToStart returns the session for a client that is started with an alias. If no session has the
// alias, it returns the alias as the id of the new session, because people can read such an id. If
// this id is not free, it returns "".
func sidToStart(reg *sessions.Registry, rows []sessions.Row, c Caller) (string, error) {
	if r := reg.Receiver(rows, c.Start); r != nil {
		s := reg.Session(r)
		if own := c.PID > 0 && s.Process == c.PID; !own && s.State != sessions.Absent && (s.State != sessions.Unknown || s.PID != 0) {
			return "", &sessions.AliasTakenError{Alias: s.Alias, Suggested: sessions.FreeAlias(rows, c.Start), Process: s.Process, Person: s.State == sessions.Person}
		}
		return s.ID, nil
	}
	if likeSID(rows, c.Start) != "" || checkSID(c.Start) != nil || sessions.CheckExternal(c.Start) != nil {
		return "", nil
	}
	if f := reg.Facts.Of(c.Start); f.Alias != "" && sessions.Fold(f.Alias) != sessions.Fold(c.Start) {
		return "", nil // a session with this id was swept when it had another alias
	}
	return c.Start, nil
}

// likeSID returns the id of a session that equals sid but perhaps for the case; "" if there is none.
// On most file systems of macOS the two would have the same files.
func likeSID(rows []sessions.Row, sid string) string {
	for _, r := range rows {
		if strings.EqualFold(r.SID(), sid) {
			return r.SID()
		}
	}
	return ""
}

func checkSID(sid string) error {
	if !mail.ValidName(sid) {
		return fmt.Errorf("%w can have the name %q", sessions.ErrNoSession, sid)
	}
	return nil
}

// SIDByName takes its argument as the id of a registered session; otherwise as an alias; otherwise
// as the id of a session that is not registered yet.
func SIDByName(rows []sessions.Row, name string) (string, error) {
	if sessions.FindSID(rows, name) >= 0 {
		return name, nil
	}
	if found := sessions.Holders(rows, name); len(found) > 0 {
		return found[0].SID(), nil
	}
	return name, checkSID(name)
}

// fromEnv returns the session that the variables of clients name. It reads only variables that can
// be trusted. The argument near is the session of the nearest ancestor that has one. If near
// belongs to another client than a variable, the variable was inherited through that client, and
// counts only if the client of the variable runs below that of near (see isBelow).
func fromEnv(reg *sessions.Registry, rows []sessions.Row, c Caller, near string) (string, error) {
	var nearest sessions.Session
	if i := sessions.FindSID(rows, near); i >= 0 {
		nearest = reg.Session(rows[i])
	}
	found := ""
	for _, id := range c.clientIDs() {
		sid, err := sidOfID(reg, rows, c, id)
		if err != nil {
			return "", err
		}
		if isBelow(reg, nearest, id) {
			return sid, nil
		}
		if sid == "" || sid != near && nearest.Client != "" && nearest.Client != id.client {
			continue
		}
		if found != "" {
			return "", nil // one client runs in the shell of the other, and we cannot tell which of them is the inner one
		}
		found = sid
	}
	return found, nil
}

// isBelow reports whether the client that uses this id runs below the client of the session s, for
// example in its shell. c2c may not know the process of the client that uses the id. But if the
// client of s was started without the id in its environment, a process below it has put the id into
// ours.
func isBelow(reg *sessions.Registry, s sessions.Session, id clientID) bool {
	if s.Process == 0 || s.Client == id.client {
		return false
	}
	p, _ := client.Find(id.client)
	had := reg.Processes.Environ(s.Process)
	sid, err := reg.Facts.SidOf(id.client, id.id)
	return err == nil && sid != "" && had != nil && !slices.Contains(had, p.SessionEnv+"="+id.id)
}

// A clientID is a client's own id of a session.
type clientID struct{ client, id string }

// clientIDs returns the ids in the environment that can be trusted.
func (c Caller) clientIDs() (ids []clientID) {
	for _, p := range client.All() {
		if id := c.env(p.SessionEnv); id != "" && (p.TrustEnv && c.Client == p.Name || p.ShellEnv && c.Client == "") {
			ids = append(ids, clientID{p.Name, id})
		}
	}
	return ids
}

// sameClient reports whether two names may mean one client. An empty name, as in a row without a
// client, may mean any client.
func sameClient(a, b string) bool {
	return a == "" || b == "" || client.Name(a) == client.Name(b)
}

// sidOfProcess returns the session of a process, or "" if there is none. A server whose parent has
// ended becomes a child of process 1, so for process 1 the client must be the same, too.
func sidOfProcess(reg *sessions.Registry, rows []sessions.Row, p sessions.Process, client string) (string, error) {
	sid := ""
	for _, r := range rows {
		if !reg.IsBoundTo(r, p) || p.PID == 1 && !sameClient(client, r.Text("client_type")) {
			continue
		}
		if sid != "" {
			return "", fmt.Errorf("process %d has sessions %q and %q: %w", p.PID, sid, r.SID(), sessions.ErrAmbiguous)
		}
		sid = r.SID()
	}
	return sid, nil
}

// DescendsFrom reports whether the process of a session is pid, or a descendant of pid.
func DescendsFrom(reg *sessions.Registry, s sessions.Session, pid int) bool {
	for p := range ancestors(reg.Processes, s.Process) {
		if p.PID == pid || p.Parent == pid {
			return true
		}
	}
	return false
}

// Starter returns the process of the client that started the leader of our process session
// (setsid); 0 if c2c cannot see it. If the client starts the leader through other processes,
// isClient must report whether a process is the client's. A nil isClient means that the client
// starts the leader itself.
func Starter(table sessions.ProcessTable, isClient func(pid int) bool) (starter int) {
	sid, err := unix.Getsid(0)
	if err != nil {
		return 0
	}
	for p := range ancestors(table, table.Self()) { // a process left in the background is not below its leader
		if p.PID == sid {
			starter = p.Parent
		}
		if starter != 0 && (isClient == nil || isClient(p.Parent)) {
			return p.Parent
		}
	}
	return starter
}

// above yields the ancestors of our process, beginning with its parent.
func above(table sessions.ProcessTable) iter.Seq[sessions.Process] {
	parent := os.Getppid()
	if self := table.Self(); self != os.Getpid() { // in a test
		p, _ := table.Find(self)
		parent = p.Parent
	}
	return ancestors(table, parent)
}

// ancestors yields the process pid, its parent, and so on towards init, as far as c2c can see the
// processes.
func ancestors(table sessions.ProcessTable, pid int) iter.Seq[sessions.Process] {
	return func(yield func(sessions.Process) bool) {
		for n := 0; pid > 1 && n <= maxAncestors; n++ {
			p, err := table.Find(pid)
			if err != nil || !yield(p) {
				return // the process is gone, and its parent is not known
			}
			pid = p.Parent
		}
	}
}

func nearestAncestor(reg *sessions.Registry, rows []sessions.Row, c Caller) (string, error) {
	byPID := map[int64][]sessions.Row{}
	for _, r := range rows {
		if pid := r.Integer("pid"); pid > 0 {
			byPID[pid] = append(byPID[pid], r)
		}
	}
	if len(byPID) == 0 {
		return "", nil // no session has a process, so none can be an ancestor of ours
	}
	for p := range above(reg.Processes) {
		own := byPID[int64(p.PID)]
		sid, err := sidOfProcess(reg, own, p, "")
		if errors.Is(err, sessions.ErrAmbiguous) {
			for _, id := range c.clientIDs() { // the client puts its id into the environment of its shells
				named, _ := reg.Facts.SidOf(id.client, id.id)
				if i := sessions.FindSID(own, named); i >= 0 && reg.IsBoundTo(own[i], p) {
					return named, nil
				}
			}
		}
		if sid != "" || err != nil {
			return sid, err
		}
	}
	return "", nil
}
