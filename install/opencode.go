package install

import (
	_ "embed"
	"path/filepath"

	"c2c/install/confedit"
)

// OpenCode is OpenCode's name in package client.
const OpenCode = "opencode"

func init() { register(OpenCode, opencode()) }

// opencode configures OpenCode: https://opencode.ai/docs/plugins and .../mcp-servers.
func opencode() setup {
	return setup{files: opencodeFiles, inProject: true, alone: opencodeAlone}
}

//go:embed opencode.ts
var opencodePlugin []byte

// opencodeFiles returns the files for all projects, and the files of this project. The client reads
// all of them. If two entries have the same name, it uses the project's entry. Two copies of the
// plugin do no harm, because they share their state.
func opencodeFiles(o Options) []target {
	dir, _ := configDir(OpenCode, o)
	plugin, server := opencodeParts(o)
	project := top(o.Project)
	inProject := filepath.Join(project, ".opencode")
	shared := !o.InProject || o.SharedPlugin
	return []target{
		{path: filepath.Join(dir, "plugins", "c2c.ts"), mode: 0o644, editor: plugin, other: !shared},
		{path: filepath.Join(inProject, "plugins", "c2c.ts"), mode: 0o644, editor: plugin, other: shared, project: project},
		{path: opencodeConfig(dir), editor: server, other: o.InProject},
		{path: opencodeConfig(inProject), mode: 0o644, editor: server, other: !o.InProject, project: project},
	}
}

func opencodeParts(o Options) (plugin scriptEditor, server serverEditor) {
	command := []string{o.Binary, "mcp"}
	entry := opencodeEntry{"local", command, true, map[string]string{"C2C_MCP_CLIENT_TYPE": OpenCode}}
	return scriptEditor{part: "plugin", content: runs(opencodePlugin, o.Binary)}, serverEditor{key: "mcp", entry: entry, command: command}
}

// opencodeContent is a variable with settings, in JSON. OpenCode adds them to those of the files.
const opencodeContent = "OPENCODE_CONFIG_CONTENT"

func opencodeAlone(o Options, dir string, _ []string) (Alone, error) {
	plugin, server := opencodeParts(o)
	path := filepath.Join(dir, "c2c.ts")
	content, err := server.add(opencodeContent, []byte(o.Getenv(opencodeContent)))
	if err == nil {
		content, err = confedit.EditJSON(opencodeContent, content, func(d *confedit.JSON) error {
			plugins, err := d.Array("plugin")
			if plugins == nil && err == nil {
				return d.Put([]string{path}, "plugin")
			} else if err != nil {
				return err
			}
			return d.Insert(plugins, "", path)
		})
	}
	return Alone{
		Env:   []string{opencodeContent + "=" + string(content)},
		files: []target{{path: path, mode: 0o644, editor: plugin}},
	}, err
}

// opencodeConfig returns the path of the settings file in dir: opencode.jsonc, which may have
// comments, if it exists; otherwise opencode.json.
func opencodeConfig(dir string) string {
	config := filepath.Join(dir, "opencode.json")
	if Content(config+"c") != nil {
		config += "c"
	}
	return config
}

type opencodeEntry struct {
	Type        string            `json:"type"`
	Command     []string          `json:"command"`
	Enabled     bool              `json:"enabled"`
	Environment map[string]string `json:"environment"`
}
