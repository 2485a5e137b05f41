package install

import (
	_ "embed"
	"path/filepath"
	"slices"
	"strings"

	"c2c/install/confedit"
	"c2c/internal/format"
)

// Copilot is Copilot CLI's name in package client.
const Copilot = "copilot"

func init() { register(Copilot, copilot()) }

// copilot configures GitHub Copilot CLI. Copilot's extensions are experimental, and off without a
// flag. If the person has turned the flag off, only the hooks bring mail, and only while Copilot
// works.
func copilot() setup {
	return setup{files: copilotFiles, notes: copilotNotes, allows: copilotAllows, alone: copilotAlone}
}

func copilotNotes(o Options) []string {
	extensions := "it now runs every extension that it finds, not only that of c2c (enabledFeatureFlags.EXTENSIONS)"
	if confedit.Off(Content(copilotSettings(o)), copilotFlag.names...) {
		extensions = "its extensions stay off, as you have set it (enabledFeatureFlags.EXTENSIONS): " + withoutExtensions
	}
	return []string{extensions}
}

const withoutExtensions = "hooks show mail while Copilot works, and nothing wakes an idle session. Set it to true, and mail wakes idle sessions too"

var copilotFlag = flagEditor{[]string{"enabledFeatureFlags", "EXTENSIONS"}, withoutExtensions}

func copilotSettings(o Options) string {
	dir, _ := configDir(Copilot, o)
	return filepath.Join(dir, "settings.json")
}

//go:embed copilot.mjs
var copilotExtension []byte

func copilotFiles(o Options) []target {
	dir, _ := configDir(Copilot, o)
	files := copilotParts(o, dir, "c2c.json")
	return slices.Insert(files, 2, target{path: copilotSettings(o), editor: copilotFlag})
}

// copilotParts returns the files of c2c below dir: the extension, the hooks in the file with this
// name, and the server.
func copilotParts(o Options, dir, hooks string) []target {
	return []target{
		{path: filepath.Join(dir, "extensions", "c2c", "extension.mjs"), mode: 0o644, editor: scriptEditor{part: "extension", content: runs(copilotExtension, o.Binary)}},
		{path: filepath.Join(dir, "hooks", hooks), editor: allowingHooks{commandHooks(Copilot, o, append(at("UserPromptSubmit", "PostToolUse", "Stop", "Notification"),
			hookEvent{name: "PreToolUse", matcher: "Write|Edit"})), copilotAllow(o), o.Ask}},
		{path: filepath.Join(dir, "mcp-config.json"), editor: serverEditor{key: serversKey, entry: copilotEntry{
			"local", o.Binary, []string{"mcp"}, map[string]string{"C2C_MCP_CLIENT_TYPE": Copilot}, []string{"*"}}, command: o.Binary}},
	}
}

// copilotFlags is a variable with names of experimental features, separated by commas.
const copilotFlags = "COPILOT_CLI_ENABLED_FEATURE_FLAGS"

// copilotAlone: the folder of --plugin-dir has the extension and the hooks (1.0.102). The server is
// not in it, because a plugin's server may have another name. A person who has turned extensions
// off gets none.
func copilotAlone(o Options, dir string, _ []string) (Alone, error) {
	files := append(copilotParts(o, dir, "hooks.json"),
		target{path: filepath.Join(dir, "plugin.json"), editor: scriptEditor{part: "plugin", content: []byte(`{"name": "c2c", "version": "1.0.0"}` + "\n")}})
	for i := range files {
		files[i].mode = 0o600
	}
	how := Alone{Args: []string{"--plugin-dir", dir, "--additional-mcp-config", "@" + filepath.Join(dir, "mcp-config.json")}, files: files}
	if !confedit.Off(Content(copilotSettings(o)), copilotFlag.names...) {
		how.Env = []string{copilotFlags + "=" + strings.Trim(o.Getenv(copilotFlags)+",EXTENSIONS", ",")}
	}
	return how, nil
}

// copilotAllow returns the editor of the hook that allows our tools. Its matcher has to match all
// of "SERVER/TOOL" (1.0.102).
func copilotAllow(o Options) hookEditor {
	return commandHooks(Copilot, o, []hookEvent{{name: "PermissionRequest", matcher: "c2c/.*"}})
}

func copilotAllows(o Options) bool {
	return hasOurs(copilotAllow(o), Content(copilotFiles(o)[1].path))
}

type copilotEntry struct {
	Type    string            `json:"type"`
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env"`
	Tools   []string          `json:"tools"`
}

// flagEditor sets a flag in a JSON file to true. It does not change a flag that the person has set.
// It removes the flag only if the undo record shows that the flag was not there before.
type flagEditor struct {
	names   []string
	without string // what the client does without the flag
}

const kindFlag = "flag"

func (flagEditor) kind() string { return kindFlag }

func (e flagEditor) add(path string, data []byte) ([]byte, error) {
	if confedit.Member(data, e.names...) != nil {
		return data, nil
	}
	return confedit.EditJSON(path, data, func(d *confedit.JSON) error { return d.Put(true, e.names...) })
}

func (e flagEditor) strip(path string, data, original []byte) ([]byte, error) {
	if original == nil || confedit.Member(original, e.names...) != nil {
		return data, nil
	}
	return confedit.EditJSON(path, data, func(d *confedit.JSON) error {
		v, there, err := d.Find(e.names...)
		if err != nil || there < len(e.names) {
			return err
		}
		above := e.names[:len(e.names)-1]
		d.Remove(d.At(above...), v)
		d.RemoveEmpty(original, above...)
		return nil
	})
}

// find does not set part.ours, because a person may have set the flag.
func (e flagEditor) find(f *File) (part, error) {
	flag := confedit.Member(f.Data, e.names...)
	p := part{there: flag != nil}
	if !confedit.IsTrue(flag) {
		p.report = func(t target, _ Options) []format.Finding {
			return []format.Finding{{Client: t.client, Status: format.Warning, Part: t.part(), Path: t.path,
				Detail: strings.Join(e.names, ".") + " is off: " + e.without}}
		}
	}
	return p, nil
}
