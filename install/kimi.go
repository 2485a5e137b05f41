package install

import "path/filepath"

// Kimi is the name of the client.
const Kimi = "kimi"

// kimi sets Kimi Code up.
func kimi() setup {
	return setup{name: Kimi, files: kimiFiles}
}

func kimiFiles(o Options) []target {
	dir, _ := configDir(Kimi, o)
	return []target{
		{path: filepath.Join(dir, "mcp.json"), editor: mcpServer(Kimi, o, serverEntry{})},
		// Kimi Code rejects the whole list because of one unknown key or event.
		{path: filepath.Join(dir, "config.toml"), editor: tomlHooks{commandHooks(Kimi, o, at("SessionStart", "UserPromptSubmit", "Stop", "StopFailure"))}},
	}
}
