package install

import (
	_ "embed"
	"path/filepath"
	"strings"

	"c2c/doctor"
	"c2c/install/confedit"
	"c2c/install/edits"
)

// Copilot is Copilot CLI's name in package client.
const Copilot = "copilot"

// copilot configures GitHub Copilot CLI. Copilot's extensions are experimental, and off without a flag. If the person has turned the flag
// off, only the hooks bring mail, and only while Copilot works.
func copilot() setup {
	return setup{name: Copilot, files: copilotFiles, notes: copilotNotes}
}

func copilotNotes(o Options) []string {
	extensions := "it now runs every extension that it finds, not only that of c2c (enabledFeatureFlags.EXTENSIONS)"
	if confedit.Off(edits.Content(copilotSettings(o)), copilotFlag.names...) {
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
	return []target{
		{path: filepath.Join(dir, "extensions", "c2c", "extension.mjs"), mode: 0o644, editor: scriptEditor{part: "extension", content: runs(copilotExtension, o.Binary)}},
		{path: filepath.Join(dir, "hooks", "c2c.json"), editor: commandHooks(Copilot, o, append(at("UserPromptSubmit", "PostToolUse", "Stop", "Notification"),
			hookEvent{name: "PreToolUse", matcher: "Write|Edit"}))},
		{path: copilotSettings(o), editor: copilotFlag},
		{path: filepath.Join(dir, "mcp-config.json"), editor: serverEditor{key: serversKey, entry: copilotEntry{
			"local", o.Binary, []string{"mcp"}, map[string]string{"C2C_MCP_CLIENT_TYPE": Copilot}, []string{"*"}}, command: o.Binary}},
	}
}

type copilotEntry struct {
	Type    string            `json:"type"`
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env"`
	Tools   []string          `json:"tools"`
}

// flagEditor sets a flag in a JSON file to true. It does not change a flag that the person has set. It removes the flag only
// if the undo record shows that the flag was not there before.
type flagEditor struct {
	names   []string
	without string // what the client does without the flag
}

func (flagEditor) kind() string { return "flag" }

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
func (e flagEditor) find(f *edits.File) (part, error) {
	flag := confedit.Member(f.Data, e.names...)
	p := part{there: flag != nil}
	if !confedit.IsTrue(flag) {
		p.report = func(t target, _ Options) []doctor.Finding {
			return []doctor.Finding{{Client: t.client, Status: doctor.Warning, Part: t.part(), Path: t.path,
				Detail: strings.Join(e.names, ".") + " is off: " + e.without}}
		}
	}
	return p, nil
}
