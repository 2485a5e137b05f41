package install

import (
	"cmp"
	"path/filepath"

	"c2c/install/confedit"
	"c2c/internal/format"
)

// Qwen is Qwen Code's name in package client.
const Qwen = "qwen"

func init() { register(Qwen, qwen()) }

// qwen configures Qwen Code, after the pages users/features/hooks and mcp of its documentation.
func qwen() setup {
	allows := func(o Options) bool { return trusted(qwenFiles(o)[0].path) } // true only in a folder that the person trusts
	return setup{files: qwenFiles, inspect: qwenTrust, allows: allows, alone: qwenAlone, byVariable: true}
}

func qwenFiles(o Options) []target {
	dir, _ := configDir(Qwen, o)
	return []target{{path: filepath.Join(dir, "settings.json"), editor: qwenSettings(o)}}
}

// qwenDefaults names a file with settings that count when neither the person nor the project has
// set them. Hooks of all files run.
const qwenDefaults = "QWEN_CODE_SYSTEM_DEFAULTS_PATH"

func qwenAlone(o Options, dir string, _ []string) (Alone, error) {
	path := filepath.Join(dir, "defaults.json")
	theirs := Content(cmp.Or(o.Getenv(qwenDefaults), "/etc/qwen-code/system-defaults.json"))
	return Alone{
		Env:   []string{qwenDefaults + "=" + path},
		files: []target{{path: path, mode: 0o600, editor: qwenSettings(o), base: theirs}},
	}, nil
}

func qwenSettings(o Options) editor {
	notification := hookEvent{name: "Notification", matcher: "idle_prompt|permission_prompt"}
	events := append(at("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "StopFailure"), notification)
	return multiEditor{mcpServer(Qwen, o, serverEntry{Trust: !o.Ask}), commandHooks(Qwen, o, events)}
}

// qwenTrust looks for settings with which the person has turned parts of c2c off. If the person has
// told Qwen Code to ask about trust, it also checks whether the folder is trusted.
func qwenTrust(o Options) (found []format.Finding) {
	paths := []string{qwenFiles(o)[0].path, filepath.Join(o.Project, ".qwen", "settings.json")}
	for _, path := range paths {
		data := Content(path)
		if confedit.On(data, "disableAllHooks") {
			found = append(found, problem(Qwen, "hooks", path, "disableAllHooks is true, so no hook runs"))
		}
		found = append(found, inbound(Qwen, path, confedit.Member(data, "agents", "crossSessionInbound"))...)
	}
	found = append(found, mcpRules(Qwen, paths...)...)
	if confedit.On(Content(paths[0]), "security", "folderTrust", "enabled") {
		found = append(found, folderTrust(Qwen, o)...)
	}
	return found
}
