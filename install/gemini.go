package install

import (
	"path/filepath"

	"c2c/install/confedit"
	"c2c/internal/format"
)

// Gemini is Gemini CLI's name in package client.
const Gemini = "gemini"

func init() { register(Gemini, gemini()) }

// gemini configures Gemini CLI, after docs/hooks and docs/tools/mcp-server.md in its package.
func gemini() setup {
	allows := func(o Options) bool { return trusted(geminiFiles(o)[0].path) }
	return setup{files: geminiFiles, inspect: geminiConsent, allows: allows}
}

func geminiFiles(o Options) []target {
	dir, _ := configDir(Gemini, o)
	hooks := commandHooks(Gemini, o, append(at("SessionStart", "BeforeAgent", "AfterTool", "AfterAgent", "Notification"),
		hookEvent{name: "BeforeTool", matcher: "write_file|replace"}))
	hooks.name, hooks.milli = "c2c", true
	return []target{{path: filepath.Join(dir, "settings.json"), editor: multiEditor{
		mcpServer(Gemini, o, serverEntry{Trust: !o.Ask}),
		hooks,
	}}}
}

// geminiConsent looks for settings with which the person has turned parts of c2c off. It also
// checks whether the folder is trusted, unless the person has turned Gemini CLI's question about
// trust off.
func geminiConsent(o Options) (found []format.Finding) {
	path := geminiFiles(o)[0].path
	data := Content(path)
	if confedit.Off(data, "hooksConfig", "enabled") {
		found = append(found, problem(Gemini, "hooks", path, "hooksConfig.enabled is false, so no hook runs: mail waits until the model calls poll_inbox"))
	}
	if confedit.Lists(data, "c2c", "hooksConfig", "disabled") {
		found = append(found, problem(Gemini, "hooks", path, "hooksConfig.disabled names c2c, so its hooks do not run: mail waits until the model calls poll_inbox"))
	}
	enablement := filepath.Join(filepath.Dir(path), "mcp-server-enablement.json")
	if confedit.Off(Content(enablement), serverName, "enabled") {
		found = append(found, problem(Gemini, "approval", enablement, "c2c is disabled; gemini mcp enable c2c enables it"))
	}
	found = append(found, mcpRules(Gemini, path, filepath.Join(o.Project, ".gemini", "settings.json"))...)
	if !confedit.Off(data, "security", "folderTrust", "enabled") {
		found = append(found, folderTrust(Gemini, o)...)
	}
	return found
}
