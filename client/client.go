// Package client holds the facts that c2c knows about each client, as data in one file per client.
// A client is an AI program in which sessions run: Claude Code, Codex and others. The package
// writes nothing to disk, and its data never changes, so any goroutine may call every function at
// any time.
package client

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Profile holds the facts about one client.
type Profile struct {
	// Name is the client's name for people, in the registry (client_type) and in `c2c install`.
	Name string
	// Title is the name that its maker uses. Package is its npm package, and Tested the version that
	// the tests run; without them, we could not run the client, and all facts are from its
	// documentation.
	Title, Package, Tested string
	// Program is the name of the client's program; empty: the same as Name.
	Program string
	// Aliases are other names of the client that the OCaml c2c or the client itself uses.
	Aliases []string
	// Info is the prefix of the name that the client sends to MCP servers (clientInfo).
	Info string
	// AliasPrefix begins the aliases that c2c makes for sessions of this client.
	AliasPrefix string
	// Place is the client's place in every list, from 1. Without a place it stands after those that
	// have one.
	Place int

	// These fields say in which other packages the client has a file, besides install: Hooks in
	// hooks, Prompt in wake/terminal, and Protocol in a package wake/<name> of its own.
	Hooks, Prompt, Protocol bool

	// SessionEnv is the variable that holds the client's session id in its child processes, or
	// empty.
	SessionEnv string
	// TrustEnv means that SessionEnv, if it is in c2c's environment, names the session in which c2c
	// runs.
	TrustEnv bool
	// ShellEnv means that SessionEnv is right in a shell that the client has started, even if it is
	// not in the client's MCP server and hooks.
	ShellEnv bool
	// SessionServer means that each session has its own MCP server, so SessionEnv is right in that
	// server.
	SessionServer bool
	// SessionMeta is the key in _meta of an MCP tools/call under which the client sends its session
	// id, or empty.
	SessionMeta string
	// SessionArgument is the argument of each MCP tools/call in which a plugin of ours passes the
	// client's session id. Without the plugin the model could write that argument, so it counts
	// only for a session that the plugin has named.
	SessionArgument string
	// SessionFile is a file below the client's configuration in which a process of the client names
	// its session, as reliably as SessionMeta. %d stands for the process id; the file has JSON with
	// pid and sessionId.
	SessionFile string
	// ProjectFile is a file in a project whose JSON proposes an alias: {"alias": …}.
	ProjectFile string
	// Doing reads from files below the client's configuration whether a process's session works;
	// nil: there are no such files.
	Doing func(config string, pid int, session string) Doing
	// DoingDir is the directory of the files that Doing reads, below the client's configuration.
	DoingDir string
	// Open returns the client's ids of the sessions that one of its processes has open. known is
	// false if the system does not show them. Open is for a client whose process may have many
	// sessions; nil: c2c does not look which sessions are open.
	Open func(pid int) (ids map[string]bool, known bool)
	// Opening returns sessions that windows will open, though they are not among the open ones:
	// such a window shows a dialog first. The result may have other words, too. It looks at all
	// processes. A client with Open has it.
	Opening func(open map[string]bool) (sessions map[string]bool)
	// InTurn tells people how mail reaches the model while a turn runs.
	InTurn string
	// Servers is a directory below the client's configuration. Each process of the client that
	// serves many sessions over HTTP has a file there: JSON with pid and port.
	Servers string
	// ProcessEnv is the variable that holds the client's process id in the client's hooks, or
	// empty.
	ProcessEnv string
	// DetachedHooks means that a hook runs in its own session of processes (setsid), whose leader
	// is the client's child.
	DetachedHooks bool
	// Typed means that a session in a terminal is woken only by a line typed there: by c2c start,
	// or in a pane in which its person lets c2c type.
	Typed bool
	// ReadsHooksAnew means that a running session uses newly installed hooks from its next prompt
	// on.
	ReadsHooksAnew bool
	// HooksCommand means that the model takes the text of a hook for an order of its developer, so
	// that text must not contain a peer's words.
	HooksCommand bool
	// MailedWarnings means that the model does not see the answers of the hooks before and after a
	// tool call, so c2c sends the session its warnings as messages.
	MailedWarnings bool
	// ChildHooks means that the process of a hook is the client's child.
	ChildHooks bool
	// ProjectEnv is the variable that names the project for a hook, if the client runs its hooks in
	// another directory.
	ProjectEnv string
	// SharedProcess means that one process of the client serves many sessions, so the process does
	// not identify a session. The environment identifies the session only with SessionServer, or in
	// a shell with ShellEnv.
	SharedProcess bool
	// Daemon is an argument by which c2c recognizes a shared process that runs without a window,
	// and that begins turns when a program asks for it. The command StopDaemon ends that process.
	Daemon, StopDaemon string
	// Plugin means that a plugin of ours runs in the client, and that the client's sessions have
	// the environment of their own terminal.
	Plugin bool
	// Mod means that a mod of ours may run in the client. A mod carries no mail.
	Mod bool
	// Inherited are other variables that a client inside this one would inherit and take for its
	// own.
	Inherited []string

	// Answer is a size in bytes: an answer of an MCP tool up to this size reaches every model of
	// the client whole; 0: not known. AnswerTokens is the variable with which a person sets such a
	// limit, in tokens.
	Answer       int
	AnswerTokens string
	// NoArrays means that the client rejects a tool's answer if its first text is a JSON array.
	NoArrays bool

	// ResultMail means that the result of any tool of ours also brings mail, because nothing else
	// shows mail before the model goes on. A client without a profile gets mail in this way, too.
	ResultMail bool

	// Shell is how many bytes of output the client's shell tool always passes to every model; 0:
	// not known. ShellLine is for a shell tool that also limits the number of lines: a line of
	// fewer bytes counts as ShellLine bytes. ShellMax is the variable with which a person sets the
	// limit of the output, in characters.
	Shell, ShellLine int
	ShellMax         string

	// ConfigEnv is the variable that names the directory of the client's configuration; without it,
	// the directory is ConfigDir in the home directory. ConfigParentEnv is the variable that names
	// the parent of that directory.
	ConfigEnv, ConfigParentEnv, ConfigDir string
	// OneShot are arguments that make the client end after its answer to one prompt, unless it also
	// has one of the arguments in Stream.
	OneShot, Stream []string
	// Resume is the command that opens a session again; the session's id follows it. Empty: there
	// is no such command.
	Resume string
	// Newest are arguments that open the newest conversation in the folder. After one of Choose the
	// id of a conversation may follow; without it the client opens the newest one, or lets its
	// person choose.
	Newest, Choose []string
	// StoredAt is the path of a stored conversation below the client's configuration. %s stands for
	// its id, and * at the beginning of a name for any text. The client makes this file with the
	// first turn, and cannot open a conversation without it. Empty: the client names a session only
	// when it has stored it.
	StoredAt string
	// Tokens says where the client's record of a session has tokens. Without Input, c2c does not
	// look for them.
	Tokens TokenLines
	// Wire is the command that starts an agent with the Wire protocol; empty: there is no such
	// command.
	Wire []string
	// Channel is the client's MCP capability for messages that a server pushes; empty: there is
	// none. With the arguments ChannelArgs the client accepts such messages from c2c.
	Channel     string
	ChannelArgs []string
}

// profiles are in the order of their places. They have room for some clients more, so that the
// start of c2c does not move them.
var profiles = make([]Profile, 0, 12)

// register adds a client to every list. The file of a client calls it in init.
func register(p Profile) {
	if p.Place == 0 {
		p.Place = math.MaxInt
	}
	at := 0
	for at < len(profiles) && profiles[at].isBefore(&p) {
		at++
	}
	profiles = slices.Insert(profiles, at, p)
}

func (p *Profile) isBefore(other *Profile) bool {
	return cmp.Or(cmp.Compare(p.Place, other.Place), cmp.Compare(p.Name, other.Name)) < 0
}

// All returns all profiles. Callers must not change them.
func All() []Profile { return profiles }

// ProgramOf returns the name of a client's program. For a client without a profile it returns the
// client's name.
func ProgramOf(name string) string {
	p, _ := Find(name)
	return cmp.Or(p.Program, name)
}

// Find returns the profile of a client by its name or one of its aliases.
func Find(name string) (Profile, bool) {
	for i := range profiles { // without a copy of each: a list of sessions asks several times for each
		if p := &profiles[i]; p.Name == name || slices.Contains(p.Aliases, name) {
			return *p, true
		}
	}
	return Profile{}, false
}

// Reopens returns the command that opens a session again, whose client calls it id. It is c2c start
// where that can open a conversation: it sets c2c up if c2c is not installed in the client. If the
// client has not stored the session, because the session had no turn, the command begins another
// conversation with the same mailbox. A nil getenv means that this is not looked up.
func (p Profile) Reopens(alias, id string, getenv func(string) string) string {
	start := "c2c start --alias " + alias + " " + p.Name
	if !isPlain(id) || getenv != nil && !p.stored(id, getenv) {
		return start
	}
	if _, args, _ := strings.Cut(p.Resume, " "); strings.HasPrefix(args, "-") {
		return start + " -- " + args + " " + id
	}
	return p.Resume + " " + id // a verb of the client (Codex), which c2c start cannot pass on
}

// GoesOn returns args with the conversation id, if args open a conversation without naming it: the
// newest one in the folder may be of another session. word is the argument that does so; "": there
// is none, and GoesOn returns args. own is nil if the client cannot open the conversation id.
func (p Profile) GoesOn(args []string, id string, getenv func(string) string) (own []string, word string) {
	for i, arg := range args {
		named := i+1 < len(args) && !strings.HasPrefix(args[i+1], "-") && args[i+1] != "latest"
		if !slices.Contains(p.Newest, arg) && (!slices.Contains(p.Choose, arg) || named) {
			continue
		}
		if !isPlain(id) || !p.stored(id, getenv) {
			return nil, arg
		}
		rest := args[i+1:]
		if len(rest) > 0 && rest[0] == "latest" {
			rest = rest[1:]
		}
		return slices.Concat(args[:i], strings.Fields(p.Resume)[1:], []string{id}, rest), arg
	}
	return args, ""
}

const plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"

// isPlain reports whether an id is one word in a shell and in a path, and no option: an agent may
// have chosen it.
func isPlain(id string) bool { return id != "" && id[0] != '-' && strings.Trim(id, plain) == "" }

// stored reports whether the client has stored the conversation with this id, see StoredAt.
func (p Profile) stored(id string, getenv func(string) string) bool {
	config, _ := p.Config(getenv)
	return p.StoredAt == "" || find(config, fmt.Sprintf(p.StoredAt, id)) != ""
}

// find returns the path of the file in a directory whose path is like this, see StoredAt; "": there
// is none. It looks at the last names first, because Codex has a directory for each day.
func find(dir, path string) string {
	name, rest, more := strings.Cut(path, "/")
	ending, any := strings.CutPrefix(name, "*")
	if !any && !more { // do not list a directory of many conversations
		own := filepath.Join(dir, name)
		if _, err := os.Lstat(own); err != nil {
			return ""
		}
		return own
	}
	if !any {
		return find(filepath.Join(dir, name), rest)
	}
	entries, _ := os.ReadDir(dir)
	for _, e := range slices.Backward(entries) {
		if !strings.HasSuffix(e.Name(), ending) {
			continue
		}
		own := filepath.Join(dir, e.Name())
		if more {
			own = find(own, rest)
		}
		if own != "" {
			return own
		}
	}
	return ""
}

// Name returns the name of the client that has this name or alias. It returns an unknown name
// unchanged.
func Name(name string) string {
	p, _ := Find(name)
	return cmp.Or(p.Name, name)
}

// Wire returns the command that starts an agent with the Wire protocol.
func Wire() []string {
	for _, p := range All() {
		if len(p.Wire) > 0 {
			return p.Wire
		}
	}
	return nil
}

// ByInfo returns the profile of the client that sends the name info in its clientInfo.
func ByInfo(info string) (Profile, bool) {
	for _, p := range All() {
		if p.Info != "" && strings.HasPrefix(info, p.Info) {
			return p, true
		}
	}
	return Profile{}, false
}

// Names returns the names of all clients.
func Names() (names []string) {
	for _, p := range All() {
		names = append(names, p.Name)
	}
	return names
}

// ShellRoom is for a command in a client's shell. room is how many bytes of output the shell always
// passes to the model; a line of fewer than minLine bytes counts as minLine bytes. Both are 0 if
// c2c does not run in a client's shell. If a client runs in the shell of another client, the
// smaller limit applies.
//
// The argument caller is the name of the client whose session runs c2c. It matters for clients
// without a SessionEnv.
func ShellRoom(getenv func(string) string, caller string) (room, minLine int) {
	for _, p := range All() {
		if here := p.ShellEnv && getenv(p.SessionEnv) != "" || p.SessionEnv == "" && p.Name == caller; !here || p.Shell == 0 {
			continue
		}
		most := p.Shell
		if set, err := strconv.Atoi(getenv(p.ShellMax)); err == nil && set > 0 {
			most = min(most, max(set-leftOver, leftOver))
		}
		if room == 0 || most < room {
			room = most
		}
		minLine = max(minLine, p.ShellLine)
	}
	return room, minLine
}

// leftOver is how many bytes of a shell's output ShellRoom leaves for other commands.
const leftOver = 1000

// Config returns the directory of the client's configuration. set reports whether a variable names
// that directory.
func (p Profile) Config(getenv func(string) string) (dir string, set bool) {
	if dir := getenv(p.ConfigEnv); dir != "" {
		if abs, err := filepath.Abs(dir); err == nil {
			return abs, true
		}
	}
	if dir := getenv(p.ConfigParentEnv); filepath.IsAbs(dir) {
		return filepath.Join(dir, filepath.Base(p.ConfigDir)), true
	}
	return filepath.Join(getenv("HOME"), p.ConfigDir), false
}

// ChannelEnv is the variable that turns channel notifications on. With the value doorbell (or 1)
// they come without the bodies of messages, with the value content they bring the bodies.
const (
	ChannelEnv      = "C2C_MCP_CHANNEL_DELIVERY"
	ChannelDoorbell = "doorbell"
)

// ModEnv is a variable that is set in each process that a mod of ours starts.
const ModEnv = "C2C_MOD"

// StartEnv is the variable with which c2c start passes a session's id to a client with Plugin, for
// the client's first session.
const StartEnv = "C2C_START_SESSION_ID"

// Clean removes the variables of an outer session from an environment. A client that is started
// with the environment, or c2c inside that client, would take such variables for its own.
func Clean(env []string) (kept []string) {
	inherited := []string{"C2C_MCP_SESSION_ID", StartEnv, "C2C_MCP_CLIENT_TYPE"}
	for _, p := range All() {
		inherited = append(inherited, p.SessionEnv, p.ProcessEnv)
		inherited = append(inherited, p.Inherited...)
	}
	for _, v := range env {
		if name, _, _ := strings.Cut(v, "="); !slices.Contains(inherited, name) {
			kept = append(kept, v)
		}
	}
	return kept
}
