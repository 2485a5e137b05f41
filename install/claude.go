package install

import (
	_ "embed"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"c2c/install/confedit"
	"c2c/internal/format"
)

// Claude is Claude Code's name in package client.
const Claude = "claude"

func init() { register(Claude, claude()) }

// claude configures Claude Code: https://code.claude.com/docs/en/hooks and .../mcp.
func claude() setup {
	return setup{files: claudeFiles, inProject: true, allows: claudeAllows, inspect: claudeConsent, plugin: claudePluginOn, alone: claudeAlone,
		byVariable: true}
}

// claudeScript is the name of our hook script. A hook entry is ours if its command runs a script of
// this name. The OCaml c2c uses the same name, so install replaces the OCaml c2c's entry and adds
// no second entry.
const claudeScript = "c2c-inbox-check.sh"

//go:embed claude.js
var claudeMod []byte

// skill is docs/for-agents.md with a header. It says when a model should write, ask, answer and
// stay silent. Claude Code and Codex give their models only the description in the header. A model
// reads the rest when it needs the skill.
//
//go:embed marketplace/claude/skills/c2c/SKILL.md
var skill []byte

func skillFile(dir string) target {
	return target{path: filepath.Join(dir, "SKILL.md"), mode: 0o644, editor: scriptEditor{part: "skill", content: skill, quiet: true}}
}

const (
	claudePlugin  = `{"name": "c2c", "version": "1.0.0", "description": "Mail between coding sessions"}` + "\n"
	claudeModules = `{"modules": ["./c2c.js"], "hooks": {}}` + "\n" // without "hooks", a client that does not know mods reports an error
)

// claudeModFiles returns the files of our mod. A mod is a plugin in the user's skills directory;
// Claude Code (2.1.305 and later) loads it by itself. The module comes before the file that names
// it.
func claudeModFiles(o Options, dir string) []target {
	plugin := filepath.Join(dir, "skills", "c2c")
	module := constant(runs(claudeMod, o.Binary), "sessions", filepath.Join(dir, "sessions"))
	// The files are quiet, because another check reports which sessions have loaded the mod.
	file := func(content []byte, path ...string) target {
		return target{path: filepath.Join(append([]string{plugin}, path...)...), mode: 0o644, editor: scriptEditor{part: "mod", content: content, quiet: true}}
	}
	return []target{
		file(module, "hooks", "c2c.js"),
		file([]byte(claudeModules), "hooks", "hooks.json"),
		file([]byte(claudePlugin), ".claude-plugin", "plugin.json"),
		skillFile(filepath.Join(plugin, "skills", "c2c")),
	}
}

func claudeFiles(o Options) []target {
	dir, _ := configDir(Claude, o)
	script := filepath.Join(dir, "hooks", claudeScript)
	// Without AlwaysLoad the model sees our tools only after it has searched for them with
	// ToolSearch.
	server := mcpServer(Claude, o, serverEntry{Type: "stdio", AlwaysLoad: true})
	project := top(o.Project)
	return append([]target{
		{path: script, mode: 0o755, editor: scriptEditor{part: "hook script", content: o.HookScript}},
		{path: filepath.Join(dir, "settings.json"), editor: allowingHooks{claudeHooks(script), claudeRule{}, o.Ask}},
		{path: claudeState(o), editor: server, other: o.InProject},
		{path: filepath.Join(project, ".mcp.json"), mode: 0o644, editor: server, other: !o.InProject, project: project},
	}, claudeModFiles(o, dir)...)
}

// claudeAlone: --settings and --mcp-config add to what the person has set (2.1.329). A second
// --settings replaces the first one. --mcp-config takes all words up to the next option, so
// --settings stands behind it.
func claudeAlone(o Options, dir string, args []string) (Alone, error) {
	if i := slices.IndexFunc(args, func(arg string) bool { return arg == "--settings" || strings.HasPrefix(arg, "--settings=") }); i >= 0 {
		return Alone{}, errors.New("claude takes one --settings, and c2c needs it: leave it out")
	}
	script, settings, servers := filepath.Join(dir, claudeScript), filepath.Join(dir, "settings.json"), filepath.Join(dir, "mcp.json")
	return Alone{
		Args: []string{"--mcp-config", servers, "--settings", settings},
		files: []target{
			{path: script, mode: 0o755, editor: scriptEditor{part: "hook script", content: o.HookScript}},
			{path: settings, mode: 0o600, editor: allowingHooks{claudeHooks(script), claudeRule{}, o.Ask}},
			{path: servers, mode: 0o600, editor: mcpServer(Claude, o, serverEntry{Type: "stdio", AlwaysLoad: true})},
		},
	}, nil
}

// claudeRule edits the rule by which the model may call the tools of our server without asking
// (2.1.329).
type claudeRule struct{}

const ruleOfTools = "mcp__c2c"

var claudeRules = []string{"permissions", "allow"}

func (claudeRule) kind() string { return "rule" }

func (claudeRule) add(path string, data []byte) ([]byte, error) {
	return confedit.EditJSON(path, data, func(d *confedit.JSON) error {
		rules, err := d.Array(claudeRules...)
		switch {
		case err != nil || slices.Contains(confedit.Texts(rules), ruleOfTools):
			return err
		case rules == nil:
			return d.Put([]string{ruleOfTools}, claudeRules...)
		}
		return d.Insert(rules, "", ruleOfTools)
	})
}

// strip keeps a rule that the person has written.
func (claudeRule) strip(path string, data, original []byte) ([]byte, error) {
	if confedit.Lists(original, ruleOfTools, claudeRules...) {
		return data, nil
	}
	return confedit.EditJSON(path, data, func(d *confedit.JSON) error {
		rules, err := d.Array(claudeRules...)
		if err != nil {
			return err
		}
		for i, rule := range slices.Backward(confedit.Elements(rules)) {
			if confedit.Text(rule) == ruleOfTools {
				d.Remove(rules, confedit.Elements(rules)[i])
				d.RemoveEmpty(original, claudeRules...)
			}
		}
		return nil
	})
}

func (claudeRule) find(f *File) (part, error) {
	return part{ours: confedit.Lists(f.Data, ruleOfTools, claudeRules...)}, nil
}

func claudeAllows(o Options) bool {
	return hasOurs(claudeRule{}, Content(claudeSettingsFiles(o)[0]))
}

func claudeHooks(script string) hookEditor {
	quoted := shellQuote(script)
	return hookEditor{
		// A session keeps the hook entries as long as it runs. Without the test for the script, the
		// session would show an error at each event after c2c was uninstalled.
		command: "[ ! -x " + quoted + " ] || exec " + quoted,
		events: []hookEvent{
			{name: "SessionStart"},
			{name: "UserPromptSubmit", args: " prompt"},
			// The OCaml c2c's matcher leaves out MCP tools. So a session that calls only MCP tools
			// would never get its mail.
			{name: "PostToolUse", matcher: "*", legacy: []string{`^(?!mcp__).*`, `.*`}},
			// The argument tells the script that a tool is about to change a file.
			{name: "PreToolUse", matcher: "Edit|MultiEdit|Write|NotebookEdit", args: " edit"},
			{name: "Stop"},
			{name: "StopFailure", args: " failed"},
			// The argument tells the script that it may wake the session.
			{name: "FileChanged", args: " ring", rewake: true},
		},
		ours: func(command string) bool { return filepath.Base(firstWord(hookLine(command))) == claudeScript },
	}
}

// claudeConsent looks for settings that keep an installed c2c from working. After an install for
// one project, Claude Code (2.1.329) asks the person at its next start whether to use the project's
// server; after a "no" it never asks again. The person, the project or an administrator may also
// have turned off c2c or parts of c2c.
func claudeConsent(o Options) (found []format.Finding) {
	asks := "" // the project's file with our server; the client asks only about a server of a project
	for _, dir := range claudeProjects(o) {
		path := filepath.Join(dir, ".mcp.json")
		if confedit.Member(Content(path), serversKey, serverName) != nil {
			asks = path
		}
	}
	answered, allowed, only := false, false, ""
	managed := claudeManaged()
	for _, path := range append(claudeSettingsFiles(o), managed...) {
		data := Content(path)
		found = append(found, claudeSwitches(path, data, slices.Contains(managed, path), o)...)
		if asks != "" && confedit.Lists(data, serverName, "disabledMcpjsonServers") {
			answered = true
			found = append(found, problem(Claude, "approval", path,
				`Claude Code was told not to use the server; take "c2c" out of disabledMcpjsonServers there, and start it again`))
		}
		answered = answered || confedit.On(data, "enableAllProjectMcpServers") || confedit.Lists(data, serverName, "enabledMcpjsonServers")
		if list := confedit.Member(data, "allowedMcpServers"); list != nil {
			allowed, only = allowed || claudeLists(list, o), path
		}
	}
	if only != "" && !allowed {
		found = append(found, problem(Claude, "approval", only, `allowedMcpServers does not name c2c, so its server is not started; add {"serverName": "c2c"} there`))
	}
	if asks != "" && !answered {
		found = append(found, problem(Claude, "approval", asks, `not yet approved for this project; start claude here and choose "Use this MCP server"`))
	}
	state := claudeState(o)
	if confedit.Lists(Content(state), serverName, "projects", top(o.Project), "disabledMcpServers") {
		found = append(found, problem(Claude, "approval", state, "c2c is disabled in this project; /mcp in a session here enables it"))
	}
	return found
}

// claudeSwitches reports which parts of c2c a settings file turns off; each switch was measured
// with 2.1.329. managed means that an administrator has written the file.
func claudeSwitches(path string, data []byte, managed bool, o Options) (found []format.Finding) {
	say := func(part, detail string) {
		found = append(found, problem(Claude, part, path, detail+"; remove that from the file"))
	}
	for _, name := range []string{"disableAllHooks", "allowManagedHooksOnly"} {
		if confedit.On(data, name) && (name == "disableAllHooks" || managed) {
			say("hooks", name+" is true, so no hook runs: a ring wakes the model, and mail waits until the model calls poll_inbox")
		}
	}
	for _, rule := range confedit.Texts(confedit.Member(data, "permissions", "deny")) {
		if rule == ruleOfTools || rule == ruleOfTools+"__*" || rule == "mcp__*" {
			say("permissions", "permissions.deny has "+rule+", so the model has no tool of c2c: it gets mail, and cannot answer")
		} else if tool, ours := strings.CutPrefix(rule, ruleOfTools+"__"); ours {
			say("permissions", "permissions.deny has "+rule+", so the model cannot call "+tool)
		}
	}
	if claudeLists(confedit.Member(data, "deniedMcpServers"), o) {
		say("approval", "deniedMcpServers names c2c, so its server is not started")
	}
	return append(found, inbound(Claude, path, confedit.Member(data, "crossSessionInbound"))...)
}

// claudeLists reports whether a list of MCP servers contains our server, by name or by command.
func claudeLists(list *hujson.Value, o Options) bool {
	return slices.ContainsFunc(confedit.Elements(list), func(v *hujson.Value) bool {
		return confedit.Text(v.Find("/serverName")) == serverName || slices.Equal(confedit.Texts(v.Find("/serverCommand")), []string{o.Binary, "mcp"})
	})
}

func claudeSettingsFiles(o Options) []string {
	dir, _ := configDir(Claude, o)
	files := []string{filepath.Join(dir, "settings.json")}
	for _, project := range claudeProjects(o) {
		files = append(files, filepath.Join(project, ".claude", "settings.json"), filepath.Join(project, ".claude", "settings.local.json"))
	}
	return files
}

// claudeProjects returns the directories that may hold files of the project: the top of the
// repository, and the person's current directory.
func claudeProjects(o Options) []string { return slices.Compact([]string{top(o.Project), o.Project}) }

// claudeManaged returns the settings files of an administrator.
func claudeManaged() (paths []string) {
	for _, dir := range []string{"/etc/claude-code", "/Library/Application Support/ClaudeCode"} {
		more, _ := filepath.Glob(filepath.Join(dir, "managed-settings.d", "*.json"))
		paths = append(append(paths, filepath.Join(dir, "managed-settings.json")), more...)
	}
	return paths
}

// claudeState returns the path of the file that holds the servers for all projects, and the
// person's answers in each project.
func claudeState(o Options) string {
	dir, set := configDir(Claude, o)
	if set {
		return filepath.Join(dir, ".claude.json")
	}
	return filepath.Join(o.Home, ".claude.json") // beside ~/.claude
}

func claudePluginOn(o Options) string {
	for _, path := range claudeSettingsFiles(o) {
		if confedit.On(Content(path), "enabledPlugins", pluginName) {
			return path
		}
	}
	return ""
}
