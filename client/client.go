// Package client holds the facts that c2c knows about each AI program (Claude Code, Codex and others), as data in one
// file per program. It writes nothing to disk, and its data never change, so any goroutine may call every function at
// any time.
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
	// Name is what people, the registry (client_type) and `c2c install` call the client, and the name of its program.
	Name string
	// Program is the name of its program, if that is not Name.
	Program string
	// Aliases are other names of the client that the original c2c or the client itself uses.
	Aliases []string
	// Info is the prefix of the name that it sends to MCP servers (clientInfo).
	Info string
	// AliasPrefix starts the aliases made for sessions of this client.
	AliasPrefix string

	// SessionEnv is the variable that holds the client's session id in its child processes, or empty.
	SessionEnv string
	// TrustEnv means that SessionEnv in our environment names the session that we run in.
	TrustEnv bool
	// ShellEnv means the same in a shell that the client started, even if it is not so in its MCP server and hooks.
	ShellEnv bool
	// SessionServer means that each session has an MCP server of its own, so that SessionEnv is right there.
	SessionServer bool
	// SessionMeta is the key in _meta of an MCP tools/call under which the client sends its session id, or empty.
	SessionMeta string
	// SessionArgument is the argument that a plugin of ours adds to each MCP tools/call: the client's session id.
	// Without the plugin the model could write it, so it counts only for a session that the plugin has named.
	SessionArgument string
	// SessionFile, below its configuration, is a file in which a process of the client names its session: %d is the
	// process, and the file has JSON with pid and sessionId. It is as reliable as SessionMeta.
	SessionFile string
	// ProjectFile is a file in a project with JSON that proposes an alias: {"alias": …}.
	ProjectFile string
	// Doing reads from files below its configuration what a process's session does; nil: it has no such files.
	Doing func(config string, pid int, session string) Doing
	// DoingDir is the directory of those files, below its configuration.
	DoingDir string
	// Open returns the client's ids of the sessions that one of its processes has open, if many share it; known is false
	// if the system does not show them. Nil: its sessions need not be open.
	Open func(pid int) (ids map[string]bool, known bool)
	// InTurn says how mail reaches its model while a turn runs.
	InTurn string
	// Servers, below its configuration, is a directory in which each process of the client that serves many sessions over
	// HTTP has a file: JSON with pid and port.
	Servers string
	// ProcessEnv is the variable that holds the client's process id in its hooks, or empty.
	ProcessEnv string
	// DetachedHooks means that a hook runs in a session (setsid) of its own, whose leader is the client's child.
	DetachedHooks bool
	// ReadsHooksAnew means that a running session uses newly installed hooks from its next prompt on.
	ReadsHooksAnew bool
	// ChildHooks means that a hook is the client's child.
	ChildHooks bool
	// ProjectEnv is the variable with the project in a hook, for a client that runs its hooks in another directory.
	ProjectEnv string
	// SharedProcess means that one process of the client serves many sessions, so the process does not identify one. The
	// environment does only with SessionServer, or in a shell with ShellEnv.
	SharedProcess bool
	// Daemon is an argument of such a process that runs without a window, and that c2c can ask for a turn.
	Daemon string
	// Plugin means that a plugin of ours runs in the client: its sessions have the environment of their own terminal.
	Plugin bool
	// Mod means that a mod of ours may run in the client. It carries no mail.
	Mod bool
	// Inherited are other variables that a nested client would inherit and take for its own.
	Inherited []string

	// Answer is the size in bytes up to which every model of the client gets an MCP tool answer whole;
	// 0 is not known. AnswerTokens is the variable with which a person sets such a limit, in tokens.
	Answer       int
	AnswerTokens string
	// NoArrays means that the client refuses a tool answer that begins with the text of a JSON array.
	NoArrays bool

	// ResultMail means that the result of any tool of ours brings mail: the call names its session, so that a subagent
	// gets none, and nothing else shows mail before the model goes on. c2c does this also for a client without a profile.
	ResultMail bool

	// Shell is how many bytes of output its shell tool always passes to every model; 0 is not known.
	// ShellLine is the least that a line counts, in bytes, if the tool limits lines, too.
	// ShellMax is the variable with which a person sets such a limit, in characters.
	Shell, ShellLine int
	ShellMax         string

	// ConfigEnv is the variable that names the directory of its configuration; without it, the directory is
	// ConfigDir in the home directory. ConfigParentEnv is the variable that names the parent of that directory.
	ConfigEnv, ConfigParentEnv, ConfigDir string
	// OneShot are the arguments that make it end after its answer to one prompt, unless it also has one of Stream.
	OneShot, Stream []string
	// Resume is the command that opens a session again, without the session's id behind it; empty if there is none.
	Resume string
	// Wire is the command that starts an agent with the Wire protocol; empty if there is none.
	Wire []string
	// Channel is its MCP capability for messages that a server pushes, empty if there is none;
	// ChannelArgs make it accept ours.
	Channel     string
	ChannelArgs []string
}

// A new client gets an entry here. c2c checks the clients' variables in this order.
var profiles = []Profile{claude(), codex(), opencode(), copilot(), qwen(), kimi(), gemini(), cursor()}

// All returns every profile. Callers must not change them.
func All() []Profile { return profiles }

// ProgramOf returns the name of a client's program: the client's own name if it has no profile.
func ProgramOf(name string) string {
	p, _ := Find(name)
	return cmp.Or(p.Program, name)
}

// Find returns the profile of a client by its name or one of its aliases.
func Find(name string) (Profile, bool) {
	for _, p := range All() {
		if p.Name == name || slices.Contains(p.Aliases, name) {
			return p, true
		}
	}
	return Profile{}, false
}

// Name returns the name of a client whose name or alias this is. It returns a name that is in no profile unchanged.
func Name(name string) string {
	if p, ok := Find(name); ok {
		return p.Name
	}
	return name
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

// ByInfo returns the profile of the client that sends this name in its clientInfo.
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

// ShellRoom returns how many bytes of output the client's shell that we run in always passes to its model, and the least
// that a line counts, in bytes; 0 if we run in no client's shell. If one client runs in the shell of another, the smaller
// limit applies.
//
// above is the client of the session that runs us. ShellRoom uses it for clients without a SessionEnv.
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

// leftOver is how much of a shell's output ShellRoom leaves for other commands.
const leftOver = 1000

// Config returns the directory of the client's configuration; set reports that a variable of the client names it.
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

// ModEnv is set in each process that a mod of ours starts.
const ModEnv = "C2C_MOD"

// StartEnv is the variable with which c2c start passes a session's id to a client with Plugin, for its first session.
const StartEnv = "C2C_START_SESSION_ID"

// Clean removes the variables of an outer session from an environment. Otherwise a client that starts with it, or c2c
// below that client, would take them for its own.
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
