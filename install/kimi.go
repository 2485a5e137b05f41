package install

import "path/filepath"

// Kimi is Kimi Code's name in package client.
const Kimi = "kimi"

func init() { register(Kimi, kimi()) }

// kimi configures Kimi Code.
func kimi() setup {
	return setup{files: kimiFiles}
}

func kimiFiles(o Options) []target {
	dir, _ := configDir(Kimi, o)
	return []target{
		{path: filepath.Join(dir, "mcp.json"), editor: mcpServer(Kimi, o, serverEntry{})},
		// Kimi Code rejects the whole list if one key or event in the list is unknown.
		{path: filepath.Join(dir, "config.toml"), editor: tomlHooks{commandHooks(Kimi, o, append(at("SessionStart", "UserPromptSubmit", "Stop", "StopFailure"),
			beforeEdit("PreToolUse", "^(Edit|Write)$")))}},
	}
}
