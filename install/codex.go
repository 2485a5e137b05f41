package install

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"c2c/broker/doctor"
)

// Codex is the name of the client.
const Codex = "codex"

// codex sets Codex up: https://developers.openai.com/codex/config-reference.
func codex() setup {
	notes := func(Options) []string {
		return []string{`Codex skips new hooks until you have reviewed them: at its next start it says "Hooks need review" once.`,
			`Codex runs c2c's own tools without asking (default_tools_approval_mode = "approve"); for other tools nothing changes.`}
	}
	return setup{name: Codex, files: codexFiles, notes: notes, inspect: codexTrust, plugin: codexPluginOn}
}

func codexFiles(o Options) []target {
	dir, _ := configDir(Codex, o)
	return []target{
		{path: filepath.Join(dir, "config.toml"), editor: codexServer(o)},
		// Its command must never change: Codex trusts a hook by the hash of its
		// definition and skips a changed one until the user has reviewed it again.
		{path: filepath.Join(dir, "hooks.json"), editor: commandHooks(Codex, o,
			hookEvent{name: "SessionStart"}, hookEvent{name: "UserPromptSubmit"}, hookEvent{name: "PostToolUse"}, hookEvent{name: "Stop"})},
	}
}

func codexServer(o Options) tomlEditor {
	return tomlEditor{[]tomlLine{
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
	}}
}

// codexTrust looks for Codex's note that the user has reviewed our hooks:
// [hooks.state."PATH:EVENT:GROUP:INDEX"] in config.toml (0.169.0). The hash in
// it is not documented, so a note is no proof, but no note means no hook.
func codexTrust(o Options) []doctor.Finding {
	files := codexFiles(o)
	config, err1 := readFile(files[0].path)
	hooks, err2 := readFile(files[1].path)
	if err1 != nil || err2 != nil {
		return nil // reported where the file itself is inspected
	}
	doc, err := parseTOML(config.path, config.data)
	if err != nil {
		return nil
	}
	var missing []string
	editor := files[1].editor.(hookEditor)
	plugin := doc.isTrue("plugins", pluginName, "enabled") && !editor.holds(hooks.data)
	for _, event := range editor.events {
		var names []string // of our hooks, as the note ends
		for _, ref := range editor.entries(member(hooks.data, hooksKey, event.name)) {
			names = append(names, fmt.Sprintf("/%s:%s:%s", filepath.Base(hooks.path), snake(event.name), ref.place))
		}
		if plugin {
			names = append(names, fmt.Sprintf("%s:hooks/hooks.json:%s:0:0", pluginName, snake(event.name)))
		}
		for _, name := range names {
			if !slices.ContainsFunc(doc.all, func(s statement) bool {
				return len(s.full) >= 3 && s.full[0] == "hooks" && s.full[1] == "state" && strings.HasSuffix(s.full[2], name)
			}) {
				missing = append(missing, event.name)
			}
		}
	}
	if missing == nil {
		return nil
	}
	return []doctor.Finding{{Client: Codex, Status: doctor.Warning, Part: "hook trust", Path: config.path,
		Detail: "not yet reviewed in Codex: " + strings.Join(missing, ", ") + `; start codex and answer "Hooks need review"`}}
}

// codexPluginOn looks for enabled = true in [plugins."c2c@c2c"].
func codexPluginOn(o Options) string {
	config, err := readFile(codexFiles(o)[0].path)
	if err != nil {
		return ""
	}
	doc, err := parseTOML(config.path, config.data)
	if err != nil || !doc.isTrue("plugins", pluginName, "enabled") {
		return ""
	}
	return config.path
}

// snake turns PostToolUse into post_tool_use.
func snake(event string) string {
	var b strings.Builder
	for i, r := range event {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
