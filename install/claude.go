package install

import (
	_ "embed"
	"path/filepath"
	"slices"

	"c2c/broker/doctor"
)

// Claude is the name of the client.
const Claude = "claude"

// claude sets Claude Code up: https://code.claude.com/docs/en/hooks and .../mcp.
func claude() setup {
	return setup{name: Claude, files: claudeFiles, notes: claudeNotes, inspect: claudeConsent, plugin: claudePluginOn,
		event: `{"hook_event_name":"PostToolUse","session_id":"doctor"}`}
}

// claudeScript is what makes a hook entry ours: the original c2c uses the same
// name, so that its entry is replaced and not doubled.
const claudeScript = "c2c-inbox-check.sh"

//go:embed claude.js
var claudeMod []byte

const (
	claudePlugin  = `{"name": "c2c", "version": "1.0.0", "description": "Mail between coding sessions"}` + "\n"
	claudeModules = `{"modules": ["./c2c.js"], "hooks": {}}` + "\n" // without hooks a client before mods reports an error
)

// claudeModFiles are a plugin in the user's skills directory, which Claude Code (2.1.305 and later) loads unasked: its
// mod. The module comes before what names it.
func claudeModFiles(o Options, dir string) []target {
	plugin := filepath.Join(dir, "skills", "c2c")
	module := constant(runs(claudeMod, o.Binary), "sessions", filepath.Join(dir, "sessions"))
	return []target{
		{path: filepath.Join(plugin, "hooks", "c2c.js"), mode: 0o644, editor: modEditor{scriptEditor{"mod", module}}},
		{path: filepath.Join(plugin, "hooks", "hooks.json"), mode: 0o644, editor: modEditor{scriptEditor{"mod", []byte(claudeModules)}}},
		{path: filepath.Join(plugin, ".claude-plugin", "plugin.json"), mode: 0o644, editor: modEditor{scriptEditor{"mod", []byte(claudePlugin)}}},
	}
}

// modEditor is for a file of the mod. It tells only what is wrong: which sessions have loaded the mod says broker.Check.
type modEditor struct{ scriptEditor }

func (e modEditor) inspect(t target, f *file, o Options) ([]doctor.Finding, error) {
	found, err := e.scriptEditor.inspect(t, f, o)
	if len(found) > 0 && found[0].Status == doctor.OK {
		found = []doctor.Finding{}
	}
	return found, err
}

func claudeFiles(o Options) []target {
	dir, set := configDir(Claude, o)
	script := filepath.Join(dir, "hooks", claudeScript)
	user := filepath.Join(o.Home, ".claude.json") // beside ~/.claude, but inside CLAUDE_CONFIG_DIR
	if set {
		user = filepath.Join(dir, ".claude.json")
	}
	// Without AlwaysLoad the tools hide behind ToolSearch until the model looks.
	server := mcpServer(Claude, o, serverEntry{Type: "stdio", AlwaysLoad: true})
	return append([]target{
		{path: script, mode: 0o755, editor: scriptEditor{"hook script", o.HookScript}},
		{path: filepath.Join(dir, "settings.json"), editor: claudeHooks(script)},
		{path: user, editor: server, other: !o.Global},
		{path: filepath.Join(o.Project, ".mcp.json"), mode: 0o644, editor: server, other: o.Global},
	}, claudeModFiles(o, dir)...)
}

func claudeHooks(script string) hookEditor {
	return hookEditor{
		command: shellQuote(script),
		events: []hookEvent{
			{name: "SessionStart"},
			{name: "UserPromptSubmit"},
			// The original leaves out MCP tools; a session that only talks
			// through MCP tools would then never hear of its mail.
			{name: "PostToolUse", matcher: "*", legacy: []string{`^(?!mcp__).*`, `.*`}},
			{name: "Stop"},
			// The argument tells the script that it may wake the session.
			{name: "FileChanged", args: " ring", rewake: true},
		},
		ours: func(command string) bool { return filepath.Base(firstWord(command)) == claudeScript },
	}
}

// claudeConsent looks for the answer to the question whether the project's server may be used: Claude Code (2.1.329)
// asks at its next start, and after a "no" never again.
func claudeConsent(o Options) (found []doctor.Finding) {
	allowed, hooks := false, []doctor.Finding(nil)
	for _, path := range claudeSettings(o) {
		f, err := readFile(path)
		if err != nil {
			continue
		}
		if isTrue(member(f.data, "disableAllHooks")) {
			hooks = append(hooks, off(Claude, "hooks", path, "disableAllHooks is true, so no hook runs: a ring wakes its model, and mail waits until that calls poll_inbox"))
		}
		if slices.Contains(texts(member(f.data, "disabledMcpjsonServers")), serverName) {
			found = append(found, doctor.Finding{Client: Claude, Status: doctor.Warning, Part: "approval", Path: path,
				Detail: `Claude Code was told not to use the server; take "c2c" out of disabledMcpjsonServers there, and start it again`})
		}
		allowed = allowed || isTrue(member(f.data, "enableAllProjectMcpServers")) || slices.Contains(texts(member(f.data, "enabledMcpjsonServers")), serverName)
	}
	f, err := readFile(filepath.Join(o.Project, ".mcp.json"))
	if err == nil && found == nil && !allowed && member(f.data, serversKey, serverName) != nil {
		found = append(found, doctor.Finding{Client: Claude, Status: doctor.Warning, Part: "approval", Path: f.path,
			Detail: `not yet approved for this project; start claude here and choose "Use this MCP server"`})
	}
	return append(found, hooks...)
}

func claudeSettings(o Options) []string {
	dir, _ := configDir(Claude, o)
	return []string{filepath.Join(dir, "settings.json"), filepath.Join(o.Project, ".claude", "settings.json"), filepath.Join(o.Project, ".claude", "settings.local.json")}
}

func claudePluginOn(o Options) string {
	for _, path := range claudeSettings(o) {
		if f, err := readFile(path); err == nil && isTrue(member(f.data, "enabledPlugins", pluginName)) {
			return path
		}
	}
	return ""
}

func claudeNotes(o Options) []string {
	notes := []string{"Claude Code asks once per project whether the new MCP server c2c may be used.",
		"Claude Code sessions that are running see the change after a restart."}
	if o.Global {
		notes = slices.Delete(notes, 0, 1)
	}
	return notes
}
