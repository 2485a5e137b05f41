package lab

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Client names one of the AI programs.
type Client string

const (
	Claude   Client = "claude"
	Codex    Client = "codex"
	OpenCode Client = "opencode"
	Kimi     Client = "kimi"
	Qwen     Client = "qwen"
	Gemini   Client = "gemini"
	Copilot  Client = "copilot"
)

// clients returns for each client where npm puts the program, as a pattern below node_modules, and
// how its model names a tool of an MCP server (from the server's name and the tool's). If a package
// has a native binary, the pattern matches the binary, because npm's link with the client's name
// only starts that.
func clients() map[Client]struct{ program, tool string } {
	return map[Client]struct{ program, tool string }{
		Claude:   {"@anthropic-ai/claude-code-*/claude", "mcp__%s__%s"},
		Codex:    {"@openai/codex-*/vendor/*/bin/codex", "mcp__%s__%s"},
		OpenCode: {"opencode-linux-*/bin/opencode", "%s_%s"},
		Copilot:  {"@github/copilot-linux-*/copilot", "%s-%s"},
		Kimi:     {".bin/kimi", "mcp__%s__%s"},
		Gemini:   {".bin/gemini", "mcp_%s_%s"},
		Qwen:     {".bin/qwen", "mcp__%s__%s"},
	}
}

// Programs holds the paths of the programs under test.
type Programs struct {
	Clients map[Client]string
	Older   map[Client]string // a version that lacks something that c2c uses
	Node    string            // the folder with node, which some clients need
	Bin     string            // the folder with c2c and c2cd; may be empty
	Scratch string            // the directory for homes; not below /tmp, where Codex behaves differently
}

// FindPrograms adds the clients in folders to p; scripts/e2e.sh installs them there. If a client is
// missing, the tests that start it fail. If a client is in two folders, the second one has an older
// version.
func FindPrograms(folders []string, p Programs) (Programs, error) {
	p.Clients, p.Older = map[Client]string{}, map[Client]string{}
	for _, folder := range folders {
		modules := filepath.Join(folder, "node_modules")
		for client, is := range clients() {
			paths, err := filepath.Glob(filepath.Join(modules, is.program))
			if err != nil {
				return p, err
			}
			if len(paths) > 0 && p.Clients[client] == "" {
				p.Clients[client] = paths[0]
			} else if len(paths) > 0 {
				p.Older[client] = paths[0]
			}
		}
		if nodes, err := filepath.Glob(filepath.Join(modules, "node-linux-*/bin")); err != nil {
			return p, err
		} else if len(nodes) > 0 {
			p.Node = nodes[0]
		}
	}
	return p, nil
}

// Version returns the version of a client, from the name of its folder: PACKAGE@VERSION.
func (l *Lab) Version(c Client) string {
	l.t.Helper()
	folder, _, _ := strings.Cut(l.programs.Clients[c], "/node_modules/")
	return folder[strings.LastIndexByte(folder, '@')+1:]
}

// UseOlder makes this lab start the older version of a client from now on.
func (l *Lab) UseOlder(c Client) {
	l.programs.Clients = maps.Clone(l.programs.Clients)
	l.programs.Clients[c] = l.programs.Older[c]
}

// path puts the folders of the clients in front of a search path.
func (p Programs) path(path string) string {
	var dirs []string
	for _, program := range p.Clients {
		dirs = append(dirs, filepath.Dir(program))
	}
	slices.Sort(dirs)
	return strings.Join(append(slices.Compact(dirs), path), ":")
}

// Path returns a search path with only these clients in front of the system's own programs.
func (l *Lab) Path(cs ...Client) string {
	l.t.Helper()
	p := Programs{Clients: map[Client]string{}}
	for _, c := range cs {
		p.Clients[c] = l.command(c)[0]
	}
	return p.path("/usr/local/bin:/usr/bin:/bin")
}

// Shell starts a shell command line on a terminal, with this environment.
func (l *Lab) Shell(env []string, line string) *Proc {
	l.t.Helper()
	return l.terminal(env, "sh", "-c", line)
}

// command returns the command line that runs a client.
func (l *Lab) command(c Client, args ...string) []string {
	l.t.Helper()
	program := l.programs.Clients[c]
	if program == "" {
		l.t.Fatalf("%s is not installed: run make e2e", c)
	}
	return append([]string{program}, args...)
}

// run starts a client with pipes.
func (l *Lab) run(c Client, env []string, args ...string) *Proc {
	l.t.Helper()
	return start(l.t, l.Project, env, slices.Concat(l.before, l.command(c, args...))...)
}

// tui starts a client on a terminal and returns when it shows one of the texts.
func (l *Lab) tui(c Client, env, ready []string, args ...string) *Proc {
	l.t.Helper()
	begin := time.Now()
	p := l.terminal(env, l.command(c, args...)...)
	p.WaitShown(ready...)
	l.t.Logf("%s was ready after %v", c, time.Since(begin).Round(time.Millisecond))
	return p
}

// Terminal starts a program on a terminal, with the clients on its PATH.
func (l *Lab) Terminal(env []string, argv ...string) *Proc {
	l.t.Helper()
	for i, v := range env {
		if path, ok := strings.CutPrefix(v, "PATH="); ok {
			env[i] = "PATH=" + l.programs.path(path)
		}
	}
	return l.terminal(env, argv...)
}

func (l *Lab) terminal(env []string, argv ...string) *Proc {
	l.t.Helper()
	return startTerminal(l.t, l.Project, env, slices.Concat(l.before, argv)...)
}

// CallMCP returns a reply that calls a tool of an MCP server by the client's name for it.
func CallMCP(c Client, server, tool string, input any) Reply {
	if c == Codex {
		return Reply{Calls: []ToolCall{{Name: tool, Namespace: "mcp__" + server, Input: input}}}
	}
	return Call(fmt.Sprintf(clients()[c].tool, server, tool), input)
}
