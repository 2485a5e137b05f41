package install

import (
	"path/filepath"
	"slices"

	"c2c/doctor"
	"c2c/install/confedit"
)

// Gemini is the name of the client.
const Gemini = "gemini"

// gemini sets Gemini CLI up: docs/hooks and docs/tools/mcp-server.md in its package.
func gemini() setup {
	allows := func(o Options) bool { return trusted(geminiFiles(o)[0].path) }
	return setup{name: Gemini, files: geminiFiles, inspect: geminiConsent, allows: allows}
}

func geminiFiles(o Options) []target {
	dir, _ := configDir(Gemini, o)
	hooks := commandHooks(Gemini, o, hookEvent{name: "SessionStart"}, hookEvent{name: "BeforeAgent"}, hookEvent{name: "AfterTool"}, hookEvent{name: "AfterAgent"},
		hookEvent{name: "Notification"})
	hooks.name, hooks.milli = "c2c", true
	return []target{{path: filepath.Join(dir, "settings.json"), editor: multiEditor{
		mcpServer(Gemini, o, serverEntry{Trust: !o.Ask}),
		hooks,
	}}}
}

// geminiConsent looks whether the folder is trusted, about which Gemini CLI asks unless its person has set otherwise, and
// whether hooks run.
func geminiConsent(o Options) (found []doctor.Finding) {
	path := geminiFiles(o)[0].path
	f, err := readFile(path)
	if err != nil {
		return nil
	}
	isOff := func(names ...string) bool {
		flag := confedit.Member(f.data, names...)
		return flag != nil && !confedit.IsTrue(flag)
	}
	if isOff("hooksConfig", "enabled") {
		found = append(found, off(Gemini, "hooks", path, "hooksConfig.enabled is false, so no hook runs: mail waits until its model calls poll_inbox"))
	}
	if slices.Contains(confedit.Texts(confedit.Member(f.data, "hooksConfig", "disabled")), "c2c") {
		found = append(found, off(Gemini, "hooks", path, "hooksConfig.disabled names c2c, so its hooks do not run: mail waits until its model calls poll_inbox"))
	}
	enablement := filepath.Join(filepath.Dir(path), "mcp-server-enablement.json")
	if f, err := readFile(enablement); err == nil {
		if flag := confedit.Member(f.data, serverName, "enabled"); flag != nil && !confedit.IsTrue(flag) {
			found = append(found, off(Gemini, "approval", enablement, "its person has disabled c2c; gemini mcp enable c2c enables it"))
		}
	}
	found = append(found, mcpRules(Gemini, path, filepath.Join(o.Project, ".gemini", "settings.json"))...)
	if !isOff("security", "folderTrust", "enabled") {
		found = append(found, folderTrust(Gemini, o)...)
	}
	return found
}
