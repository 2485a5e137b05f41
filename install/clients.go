package install

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
)

// scriptName is what makes a Claude Code hook entry ours: the original c2c
// uses the same name, so that its entry is replaced and not doubled.
const scriptName = "c2c-inbox-check.sh"

// hookTimeout is in seconds. The script bounds itself to 5; this is the belt.
const hookTimeout = 10

// A target is a file that holds a part of ours, and the editor that knows
// which part.
type target struct {
	client    string
	kind      string // names the editor in undo records
	path      string
	mode      fs.FileMode // of a file that we create
	exactMode bool        // also of one that is there
	editor    editor
}

// An editor puts our part into the text of a file and takes it out again. All
// methods return their input unchanged when there is nothing to do.
type editor interface {
	// add returns data with our part; data is nil when there is no file.
	add(path string, data []byte) ([]byte, error)
	// strip returns data without our part. Containers that become empty go
	// too, but not those that original (nil: not known) had.
	strip(path string, data, original []byte) ([]byte, error)
	// holds reports whether data has a part that this c2c wrote, which the
	// part of another implementation with the same name is not.
	holds(data []byte) bool
	// blank reports whether data says nothing.
	blank(data []byte) bool
}

// Editor names in undo records.
const (
	kindServer = "mcp-json"
	kindHooks  = "hooks-json"
	kindTOML   = "mcp-toml"
	kindScript = "script"
)

// recordedTarget finds the editor for a file of which only the record is left
// to tell, such as the .mcp.json of another project.
func recordedTarget(r *record, o Options) (target, error) {
	t := target{client: r.Client, kind: r.Kind, path: r.Path, mode: r.Mode}
	switch {
	case r.Kind == kindServer:
		t.editor = serverEditor{claudeServer(o)}
	case r.Kind == kindHooks && r.Client == Claude:
		t.editor = claudeHookEditor(r.Path)
	case r.Kind == kindHooks && r.Client == Codex:
		t.editor = codexHookEditor(o)
	case r.Kind == kindTOML:
		t.editor = tomlEditor{codexServer(o)}
	case r.Kind == kindScript:
		t.editor = scriptEditor{o.HookScript}
	default:
		return t, fmt.Errorf("read undo record of %q: unknown kind %q for client %q", r.Path, r.Kind, r.Client)
	}
	return t, nil
}

func configDir(client string, o Options) string {
	env, name := "CLAUDE_CONFIG_DIR", ".claude"
	if client == Codex {
		env, name = "CODEX_HOME", ".codex"
	}
	if dir := o.Getenv(env); dir != "" {
		if abs, err := filepath.Abs(dir); err == nil {
			return abs
		}
	}
	return filepath.Join(o.Home, name)
}

// Claude Code: https://code.claude.com/docs/en/hooks and .../mcp.

func claudeScript(o Options) target {
	path := filepath.Join(configDir(Claude, o), "hooks", scriptName)
	return target{client: Claude, kind: kindScript, path: path, mode: 0o755, exactMode: true,
		editor: scriptEditor{o.HookScript}}
}

func claudeSettings(o Options) target {
	path := filepath.Join(configDir(Claude, o), "settings.json")
	return target{client: Claude, kind: kindHooks, path: path, mode: 0o600, editor: claudeHookEditor(path)}
}

// claudeHookEditor edits settings.json at path, which the script lives beside.
func claudeHookEditor(path string) hookEditor {
	return hookEditor{
		command: shellQuote(filepath.Join(filepath.Dir(path), "hooks", scriptName)),
		events: []hookEvent{
			{name: "SessionStart"},
			{name: "UserPromptSubmit"},
			// The original leaves out MCP tools; a session that only talks
			// through MCP tools would then never hear of its mail.
			{name: "PostToolUse", matcher: "*", legacy: []string{`^(?!mcp__).*`, `.*`}},
			{name: "Stop"},
			{name: "FileChanged", args: ringArgs, rewake: true},
		},
		ours: func(command string) bool { return filepath.Base(hookProgram(command)) == scriptName },
	}
}

// ringArgs tells the script that it may wake the session.
const ringArgs = " ring"

// hookProgram is what a hook's command line runs.
func hookProgram(command string) string {
	return shellUnquote(strings.TrimSuffix(strings.TrimSuffix(command, ringArgs), codexHookArgs))
}

func claudeProjectServer(o Options) target {
	return target{client: Claude, kind: kindServer, path: filepath.Join(o.Project, ".mcp.json"), mode: 0o644,
		editor: serverEditor{claudeServer(o)}}
}

// claudeUserServer is ~/.claude.json: beside ~/.claude, but inside
// CLAUDE_CONFIG_DIR when that is set.
func claudeUserServer(o Options) target {
	path := filepath.Join(o.Home, ".claude.json")
	if o.Getenv("CLAUDE_CONFIG_DIR") != "" {
		path = filepath.Join(configDir(Claude, o), ".claude.json")
	}
	return target{client: Claude, kind: kindServer, path: path, mode: 0o600, editor: serverEditor{claudeServer(o)}}
}

func claudeServer(o Options) serverEntry {
	return serverEntry{
		Type: "stdio", Command: o.Binary, Args: []string{"mcp"},
		Env: map[string]string{"C2C_MCP_CLIENT_TYPE": Claude},
		// Without it the tools hide behind ToolSearch until the model looks.
		AlwaysLoad: true,
	}
}

// Codex: https://developers.openai.com/codex/config-reference.

func codexConfig(o Options) target {
	return target{client: Codex, kind: kindTOML, path: filepath.Join(configDir(Codex, o), "config.toml"),
		mode: 0o600, editor: tomlEditor{codexServer(o)}}
}

func codexServer(o Options) []tomlLine {
	return []tomlLine{
		{"command", tomlQuote(o.Binary)},
		{"args", `["mcp"]`},
		{"env", `{ C2C_MCP_CLIENT_TYPE = "codex" }`},
		// Codex passes on nothing else. Only where the mail is: who the
		// session is must come from each call, because a shared daemon has
		// the environment of whichever terminal started it.
		{"env_vars", `["C2C_MCP_BROKER_ROOT", "CODEX_HOME", "XDG_STATE_HOME"]`},
		{"default_tools_approval_mode", `"approve"`},
		{"startup_timeout_sec", "20"},
		{"tool_timeout_sec", "120"},
	}
}

func codexHooks(o Options) target {
	return target{client: Codex, kind: kindHooks, path: filepath.Join(configDir(Codex, o), "hooks.json"),
		mode: 0o600, editor: codexHookEditor(o)}
}

// codexHookArgs must never change: Codex trusts a hook by the hash of its
// definition and skips a changed one until the user has reviewed it again.
const codexHookArgs = " hook --client codex"

func codexHookEditor(o Options) hookEditor {
	command := shellQuote(o.Binary) + codexHookArgs
	return hookEditor{
		command: command,
		events:  []hookEvent{{name: "SessionStart"}, {name: "UserPromptSubmit"}, {name: "PostToolUse"}, {name: "Stop"}},
		ours: func(c string) bool {
			return c == command || strings.HasSuffix(c, codexHookArgs) && filepath.Base(hookProgram(c)) == "c2c"
		},
	}
}

func installNotes(client string, o Options) []string {
	if client == Codex {
		return []string{`Codex skips new hooks until you have reviewed them: at its next start it says "Hooks need review" once.`}
	}
	if o.Global {
		return []string{"Claude Code sessions that are running see the change after a restart."}
	}
	return []string{"Claude Code asks once per project whether the new MCP server c2c may be used.",
		"Claude Code sessions that are running see the change after a restart."}
}

// shellQuote returns s as one word of a POSIX shell, unquoted where possible
// because people read these files.
func shellQuote(s string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+:@%,"
	if s != "" && strings.Trim(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// shellUnquote undoes shellQuote, and takes off one pair of double quotes.
func shellUnquote(s string) string {
	if len(s) >= 2 && s[0] == s[len(s)-1] {
		switch s[0] {
		case '\'':
			return strings.ReplaceAll(s[1:len(s)-1], `'\''`, "'")
		case '"':
			return s[1 : len(s)-1]
		}
	}
	return s
}
