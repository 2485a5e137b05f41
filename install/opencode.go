package install

import (
	_ "embed"
	"path/filepath"
)

// OpenCode is OpenCode's name in package client.
const OpenCode = "opencode"

func init() { register(OpenCode, opencode()) }

// opencode configures OpenCode: https://opencode.ai/docs/plugins and .../mcp-servers.
func opencode() setup {
	return setup{files: opencodeFiles, inProject: true}
}

//go:embed opencode.ts
var opencodePlugin []byte

// opencodeFiles returns the files for all projects, and the files of this project. The client reads all of them. If two entries have the
// same name, it uses the project's entry. Two copies of the plugin do no harm, because they share their state.
func opencodeFiles(o Options) []target {
	dir, _ := configDir(OpenCode, o)
	command := []string{o.Binary, "mcp"}
	plugin := scriptEditor{part: "plugin", content: runs(opencodePlugin, o.Binary)}
	server := serverEditor{key: "mcp", entry: opencodeEntry{"local", command, true, map[string]string{"C2C_MCP_CLIENT_TYPE": OpenCode}}, command: command}
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

// opencodeConfig returns the path of the settings file in dir: opencode.jsonc, which may have comments, if it exists;
// otherwise opencode.json.
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
