// Package client holds the facts that c2c knows about each AI program (Claude Code, Codex and others), as data in one
// file per program. Nothing here is on disk and nothing changes after the start, so any goroutine may call every
// function at any time.
package client

import (
	"cmp"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Profile is what c2c knows about one client.
type Profile struct {
	// Name is how people, the registry (client_type) and `c2c install` call it, and its program's name.
	Name string
	// Program is the name of its program where that is not Name.
	Program string
	// Aliases are other words for Name that the original c2c or the client itself uses.
	Aliases []string
	// Info is how the name begins that it sends to MCP servers (clientInfo).
	Info string
	// AliasPrefix starts the aliases made for sessions of this client.
	AliasPrefix string

	// SessionEnv is the variable in which the client tells its children its own session id, or empty.
	SessionEnv string
	// TrustEnv says whether SessionEnv, found in our environment, names the session we run in.
	TrustEnv bool
	// ShellEnv says the same of a shell that the client started, where its MCP server and hooks differ.
	ShellEnv bool
	// SessionServer says that each session has an MCP server of its own, so that SessionEnv there is right.
	SessionServer bool
	// SessionMeta is the key in _meta of an MCP tools/call under which the client sends its session id, or empty.
	SessionMeta string
	// SessionArgument is the argument that a plugin of ours adds to each MCP tools/call: the client's session id.
	// Without the plugin the model could write it, so it counts only for a session that the plugin has named.
	SessionArgument string
	// SessionFile, below its configuration, is where a process of the client says its session: %d is the process,
	// and the file has JSON with pid and sessionId. What it says is as good as SessionMeta.
	SessionFile string
	// ProjectFile is a file of a project with JSON that proposes an alias there: {"alias": …}.
	ProjectFile string
	// Doing says by files below its configuration what a session of a process does; nil: it has no such files.
	Doing func(config string, pid int, session string) Doing
	// DoingDir is the directory of those files, below its configuration.
	DoingDir string
	// Open gives the client's own ids of the sessions that one of its processes has open, where many share it; known is
	// false when the system does not tell. Nil: its sessions need not be open.
	Open func(pid int) (ids map[string]bool, known bool)
	// InTurn says how mail comes to its model while a turn runs.
	InTurn string
	// Servers, below its configuration, is a directory in which processes of the client say that they serve many sessions
	// over HTTP: each file has JSON with pid and port.
	Servers string
	// ProcessEnv is the variable in which the client tells its hooks its own process id, or empty.
	ProcessEnv string
	// DetachedHooks says that a hook runs in a session (setsid) of its own, whose leader is the client's child.
	DetachedHooks bool
	// ReadsHooksAnew says that a session which runs takes hooks that are set up meanwhile, from its next prompt on.
	ReadsHooksAnew bool
	// ChildHooks says that a hook is the client's child.
	ChildHooks bool
	// ProjectEnv is the variable with the project in a hook, for a client that runs its hooks somewhere else.
	ProjectEnv string
	// SharedProcess says that one process of the client serves many sessions, so the process does not tell which. The
	// environment tells it only with SessionServer, or in a shell with ShellEnv.
	SharedProcess bool
	// Daemon is an argument of such a process that runs without a window, and can be asked for a turn.
	Daemon string
	// Plugin says that a plugin of ours runs in the client: its sessions have the environment of their own terminal.
	Plugin bool
	// Mod says that a mod of ours may run in the client. It carries no mail.
	Mod bool
	// Inherited are more variables that a nested client would inherit and take for its own.
	Inherited []string

	// Answer is how many bytes of one MCP tool answer every model of the client surely gets whole;
	// 0 is not known. AnswerTokens is the variable with which its person sets such a limit, in tokens.
	Answer       int
	AnswerTokens string
	// NoArrays says that it refuses a tool answer that begins with the text of a JSON array.
	NoArrays bool

	// ResultMail says that the result of any tool of ours brings mail: the call says whose it is, so that a subagent
	// gets none, and nothing else shows the mail before the model goes on. A client without a profile is served so, too.
	ResultMail bool

	// Shell is how many bytes of output its shell tool surely passes on to every model; 0 is not known.
	// ShellLine is how many of them each line takes at the least, where the tool limits lines, too.
	// ShellMax is the variable with which its person sets such a limit, in characters.
	Shell, ShellLine int
	ShellMax         string

	// ConfigEnv is the variable that names the directory of its configuration. Without it, that is
	// ConfigDir in the home directory. ConfigParentEnv is the variable that names the directory around it.
	ConfigEnv, ConfigParentEnv, ConfigDir string
	// OneShot are the arguments that make it end after its answer to one prompt, unless one of Stream is there, too.
	OneShot, Stream []string
	// Resume is the command that opens a session again, before the session's id; empty when there is none.
	Resume string
	// Wire is how an agent is started that speaks the Wire protocol; empty when there is none.
	Wire []string
	// Channel names its MCP capability for messages that a server pushes, empty when there is none;
	// ChannelArgs make it listen to ours.
	Channel     string
	ChannelArgs []string
}

// A new client gets a line here. The order is that in which their environments are asked.
var profiles = []Profile{claude(), codex(), opencode(), copilot(), qwen(), kimi(), gemini(), cursor()}

// All lists every profile, to be read only.
func All() []Profile { return profiles }

// ProgramOf is how the program of a client is called: of one that we do not know, by its name.
func ProgramOf(name string) string {
	p, _ := Find(name)
	return cmp.Or(p.Program, name)
}

// Find gives the profile of a client by its name or another word for it.
func Find(name string) (Profile, bool) {
	for _, p := range All() {
		if p.Name == name || slices.Contains(p.Aliases, name) {
			return p, true
		}
	}
	return Profile{}, false
}

// Name gives the name of a client by another word for it, which the original or the client itself may use. A name
// that is in no profile stays what it is.
func Name(name string) string {
	if p, ok := Find(name); ok {
		return p.Name
	}
	return name
}

// Wire is how an agent is started that speaks the Wire protocol.
func Wire() []string {
	for _, p := range All() {
		if len(p.Wire) > 0 {
			return p.Wire
		}
	}
	return nil
}

// ByInfo gives the profile of the client that calls itself so in its clientInfo.
func ByInfo(info string) (Profile, bool) {
	for _, p := range All() {
		if p.Info != "" && strings.HasPrefix(info, p.Info) {
			return p, true
		}
	}
	return Profile{}, false
}

// Names lists the names of all clients.
func Names() (names []string) {
	for _, p := range All() {
		names = append(names, p.Name)
	}
	return names
}

// ShellRoom is how many bytes of output a model surely gets from the client's shell that we run in, and how many
// of them a line takes at the least; 0 when it is no client's shell. A shell inside another's has the smaller of
// their limits.
//
// above is the client of the session below which we run. It counts for one that has no such variable.
func ShellRoom(getenv func(string) string, above string) (room, line int) {
	for _, p := range All() {
		if here := p.ShellEnv && getenv(p.SessionEnv) != "" || p.SessionEnv == "" && p.Name == above; !here || p.Shell == 0 {
			continue
		}
		most := p.Shell
		if set, err := strconv.Atoi(getenv(p.ShellMax)); err == nil && set > 0 {
			most = min(most, max(set-leftOver, leftOver))
		}
		if room == 0 || most < room {
			room = most
		}
		line = max(line, p.ShellLine)
	}
	return room, line
}

// leftOver is how much of a shell's output is left for other commands.
const leftOver = 1000

// Config is the directory of the client's configuration, and whether its own variable says so.
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

// ModEnv is set for what a mod of ours starts.
const ModEnv = "C2C_MOD"

// StartEnv is the variable by which c2c start gives a session's id to a client with Plugin, for its first session.
const StartEnv = "C2C_START_SESSION_ID"

// Clean removes the variables of an outer session from an environment. A client that is started there, or c2c below
// it, would take them for its own.
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
