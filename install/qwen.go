package install

import (
	"path/filepath"

	"c2c/broker/doctor"
)

// Qwen is the name of the client.
const Qwen = "qwen"

// qwen sets Qwen Code up: users/features/hooks and mcp in its documentation.
func qwen() setup {
	return setup{name: Qwen, files: qwenFiles, inspect: qwenTrust, event: `{"hook_event_name":"PostToolUse","session_id":"doctor"}`, notes: func(Options) []string {
		return []string{"Qwen Code sessions that are running see the change after a restart.",
			"In a folder that you trust, Qwen Code runs c2c's own tools without asking (trust); for other tools nothing changes."}
	}}
}

func qwenFiles(o Options) []target {
	dir, _ := configDir(Qwen, o)
	return []target{{path: filepath.Join(dir, "settings.json"), editor: joint{
		serverEditor{serversKey, serverEntry{Command: o.Binary, Args: []string{"mcp"}, Env: map[string]string{"C2C_MCP_CLIENT_TYPE": Qwen}, Trust: true}, o.Binary},
		commandHooks(Qwen, o,
			hookEvent{name: "SessionStart"}, hookEvent{name: "UserPromptSubmit"}, hookEvent{name: "PostToolUse"}, hookEvent{name: "Stop"},
			hookEvent{name: "Notification", matcher: "idle_prompt"}),
	}}}
}

// qwenTrust looks whether the folder is trusted, where the person has Qwen Code ask.
func qwenTrust(o Options) []doctor.Finding {
	f, err := readFile(qwenFiles(o)[0].path)
	if err != nil || !isTrue(member(f.data, "security", "folderTrust", "enabled")) {
		return nil
	}
	return folderTrust(Qwen, o)
}
