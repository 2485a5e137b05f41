package install

import (
	"fmt"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"unicode"

	"c2c/install/confedit"
	"c2c/internal/format"
)

// Codex is Codex's name in package client.
const Codex = "codex"

func init() { register(Codex, codex()) }

// codex configures Codex: https://developers.openai.com/codex/config-reference.
func codex() setup {
	return setup{files: codexFiles, allows: codexAllows, inspect: codexTrust, plugin: codexPluginOn, alone: codexAlone}
}

// codexFiles returns hooks.json before config.toml. Uninstall edits them in the opposite order: it
// removes Codex's records about our hooks from config.toml while hooks.json still shows which hooks
// are ours.
func codexFiles(o Options) []target {
	dir, _ := configDir(Codex, o)
	// The command of a hook must never change: Codex trusts a hook by the hash of its definition,
	// and skips a changed hook until the user has reviewed it again.
	hooks := commandHooks(Codex, o, append(at("SessionStart", "UserPromptSubmit", "PostToolUse", "Stop"), beforeEdit("PreToolUse", "Bash|apply_patch")))
	path := filepath.Join(dir, "hooks.json")
	return []target{
		{path: path, editor: hooks},
		{path: filepath.Join(dir, "config.toml"), editor: codexConfig{codexServer(o), path, hooks}},
		skillFile(filepath.Join(dir, "skills", "c2c")),
	}
}

// codexApproval is the key that lets Codex call a server's tools without asking.
const codexApproval = "default_tools_approval_mode"

func codexAllows(o Options) bool {
	doc, err := codexDoc(o)
	if err != nil {
		return false
	}
	mode, _ := confedit.TOMLString(doc.value(codexApproval))
	return mode == "approve"
}

// codexDoc reads config.toml. A caller may ignore an error, because the editor of the file reports
// it, too.
func codexDoc(o Options) (tomlDoc, error) {
	config, err := ReadFile(codexFiles(o)[1].path)
	if err != nil {
		return tomlDoc{}, err
	}
	return parseTOML(config.Path, config.Data)
}

// codexConfig edits our server, and the records that Codex writes when the person has reviewed our
// hooks (0.169.0):
//
//	[hooks.state."PATH:EVENT:GROUP:INDEX"]
//	trusted_hash = "sha256:…"
type codexConfig struct {
	tomlEditor
	hooksPath string
	hooks     hookEditor
}

// noted returns the keys under which Codex records a review of our hooks, "PATH:EVENT:GROUP:INDEX",
// by event. The argument data is the content of hooks.json.
func (e codexConfig) noted(data []byte) (keys map[string][]string) {
	keys = map[string][]string{}
	for _, event := range e.hooks.events {
		for _, ref := range e.hooks.entries(confedit.Member(data, hooksKey, event.name)) {
			keys[event.name] = append(keys[event.name], fmt.Sprintf("%s:%s:%s", e.hooksPath, snake(event.name), ref.place))
		}
	}
	return keys
}

// isNote reports whether a statement belongs to the record of the hook with this key. Codex may
// name the same file by another path.
func isNote(s confedit.Statement, key string) bool {
	if len(s.Key) < 3 || s.Key[0] != "hooks" || s.Key[1] != "state" {
		return false
	}
	path, rest, _ := strings.Cut(s.Key[2], ".json:")
	own, place, _ := strings.Cut(key, ".json:")
	if real, err := filepath.EvalSymlinks(own + ".json"); err == nil && path+".json" == real {
		return rest == place
	}
	return s.Key[2] == key
}

// strip also removes Codex's records about our hooks, and their heading if Codex has added the
// heading.
func (e codexConfig) strip(path string, data, original []byte) ([]byte, error) {
	data, err := e.tomlEditor.strip(path, data, original)
	if err != nil {
		return nil, err
	}
	hooks, err := ReadFile(e.hooksPath)
	if err != nil {
		return data, nil // the undo of hooks.json reports the error
	}
	d, err := parseTOML(path, data)
	if err != nil {
		return nil, err
	}
	var keys []string
	for _, of := range e.noted(hooks.Data) {
		keys = append(keys, of...)
	}
	var ours []confedit.Span
	others := strings.Contains(string(original), "[hooks.state]")
	heading := -1
	for i := 0; i < len(d.All); i++ {
		s := d.All[i]
		if len(s.Key) < 2 || s.Key[0] != "hooks" || s.Key[1] != "state" {
			continue
		}
		switch first := i; {
		case slices.ContainsFunc(keys, func(key string) bool { return s.Heading && isNote(s, key) }):
			for i+1 < len(d.All) && !d.All[i+1].Heading {
				i++
			}
			ours = append(ours, confedit.Span{First: first, Behind: i + 1})
		case s.Heading && len(s.Key) == 2 && heading < 0:
			heading = i
		default:
			others = true
		}
	}
	if heading >= 0 && !others && len(ours) > 0 {
		ours = slices.Insert(ours, 0, confedit.Span{First: heading, Behind: heading + 1})
		sort.Slice(ours, func(i, j int) bool { return ours[i].First < ours[j].First })
	}
	if len(ours) == 0 {
		return data, nil
	}
	out := d.Without(ours)
	_, err = parseTOML(path, out)
	return out, err
}

func codexServer(o Options) tomlEditor {
	lines := []tomlLine{
		{"command", confedit.QuoteTOML(o.Binary)},
		{"args", `["mcp"]`},
		{"env", `{ C2C_MCP_CLIENT_TYPE = "codex" }`},
		// Codex passes only these variables to the server. They say where the mail is. They do not
		// identify the session, because a shared daemon has the environment of the terminal that
		// started the daemon: each call must name its session.
		{"env_vars", `["C2C_MCP_BROKER_ROOT", "C2C_ROOM_WAKES", "C2C_STORM_HOPS", "CODEX_HOME", "XDG_STATE_HOME"]`},
		{codexApproval, `"approve"`},
		{"startup_timeout_sec", "20"},
		{"tool_timeout_sec", "120"},
	}
	if o.Ask {
		return tomlEditor{slices.DeleteFunc(lines, func(l tomlLine) bool { return l.key == codexApproval }), codexApproval}
	}
	return tomlEditor{lines: lines}
}

// codexAlone: a session of Codex's daemon takes no server for itself alone, because its terminal
// sets the thread up again. With -c the terminal would run without the daemon, and mail would wake
// it late. Codex runs only hooks that the person has reviewed (0.169.0).
func codexAlone(Options, string, []string) (Alone, error) {
	return Alone{Lacks: "this codex has no tools of c2c, only c2c in its shell, and mail comes between its turns"}, nil
}

// codexTrust looks for Codex's record that the user has reviewed our hooks:
// [hooks.state."PATH:EVENT:GROUP:INDEX"] in config.toml (0.169.0). The hash in the record is not
// documented, so a record does not prove that Codex runs the hook. But if there is no record, Codex
// does not run the hook.
func codexTrust(o Options) []format.Finding {
	files := codexFiles(o)
	hooks, herr := ReadFile(files[0].path)
	doc, err := codexDoc(o)
	if herr != nil || err != nil {
		return nil
	}
	var missing []string
	editor := files[1].editor.(codexConfig)
	keys := editor.noted(hooks.Data)
	plugin := doc.IsTrue("plugins", pluginName, "enabled") && !hasOurs(editor.hooks, hooks.Data)
	for _, event := range editor.hooks.events {
		if plugin {
			keys[event.name] = append(keys[event.name], fmt.Sprintf("%s:hooks/hooks.json:%s:0:0", pluginName, snake(event.name)))
		}
		for _, key := range keys[event.name] {
			if !slices.ContainsFunc(doc.All, func(s confedit.Statement) bool { return isNote(s, key) }) {
				missing = append(missing, event.name)
			}
		}
	}
	if missing == nil {
		return nil
	}
	return []format.Finding{problem(Codex, "hook trust", files[1].path,
		`start codex and choose "Trust all and continue": until then these hooks do not run: `+strings.Join(missing, ", "))}
}

// codexPluginOn returns the path of config.toml if it has enabled = true in [plugins."c2c@c2c"].
func codexPluginOn(o Options) string {
	if doc, err := codexDoc(o); err != nil || !doc.IsTrue("plugins", pluginName, "enabled") {
		return ""
	}
	return codexFiles(o)[1].path
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
