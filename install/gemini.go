package install

import "path/filepath"

// Gemini is the name of the client.
const Gemini = "gemini"

// gemini sets Gemini CLI up: docs/hooks and docs/tools/mcp-server.md in its package.
func gemini() setup {
	return setup{name: Gemini, files: geminiFiles, notes: func(Options) []string {
		return []string{"Gemini CLI sessions that are running see the change after a restart.",
			"Gemini CLI runs c2c's own tools without asking (trust); for other tools nothing changes."}
	}}
}

func geminiFiles(o Options) []target {
	dir, _ := configDir(Gemini, o)
	hooks := commandHooks(Gemini, o, hookEvent{name: "SessionStart"}, hookEvent{name: "BeforeAgent"}, hookEvent{name: "AfterTool"}, hookEvent{name: "AfterAgent"})
	hooks.name, hooks.milli = "c2c", true
	return []target{{path: filepath.Join(dir, "settings.json"), editor: joint{
		serverEditor{serversKey, serverEntry{Command: o.Binary, Args: []string{"mcp"}, Env: map[string]string{"C2C_MCP_CLIENT_TYPE": Gemini}, Trust: true}, o.Binary},
		hooks,
	}}}
}
