package install

import (
	_ "embed"
	"path/filepath"
)

// OpenCode is the name of the client.
const OpenCode = "opencode"

// opencode sets OpenCode up: https://opencode.ai/docs/plugins and .../mcp-servers.
func opencode() setup {
	return setup{name: OpenCode, files: opencodeFiles, notes: func(Options) []string {
		return []string{"OpenCode sessions that are running see the change after a restart."}
	}}
}

//go:embed opencode.ts
var opencodePlugin []byte

func opencodeFiles(o Options) []target {
	dir, _ := configDir(OpenCode, o)
	command := []string{o.Binary, "mcp"}
	config := filepath.Join(dir, "opencode.json")
	if f, err := readFile(config + "c"); err == nil && f.data != nil {
		config += "c" // both are read, and people with comments have this one
	}
	return []target{
		{path: filepath.Join(dir, "plugins", "c2c.ts"), mode: 0o644, editor: scriptEditor{"plugin", runs(opencodePlugin, o.Binary)}},
		{path: config, editor: serverEditor{"mcp", opencodeEntry{
			"local", command, true, map[string]string{"C2C_MCP_CLIENT_TYPE": OpenCode}}, command}},
	}
}

type opencodeEntry struct {
	Type        string            `json:"type"`
	Command     []string          `json:"command"`
	Enabled     bool              `json:"enabled"`
	Environment map[string]string `json:"environment"`
}
