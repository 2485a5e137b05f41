package lab

import "path/filepath"

// SeedOpenCode writes ~/.config/opencode/opencode.json: model as the provider, every tool allowed,
// and the given settings.
func (l *Lab) SeedOpenCode(model *Model, settings map[string]any) {
	l.t.Helper()
	l.Write(".config/opencode/opencode.json", mustJSON(merge(map[string]any{
		"model":       "lab/lab-model",
		"small_model": "lab/lab-model",
		"provider": map[string]any{"lab": map[string]any{
			"npm":     "@ai-sdk/openai-compatible",
			"options": map[string]any{"baseURL": model.URL + "/v1", "apiKey": "lab-key"},
			"models":  map[string]any{"lab-model": map[string]any{"tool_call": true}},
		}},
		"permission": map[string]any{"*": "allow"},
		"autoupdate": false,
		"share":      "disabled",
	}, settings)))
	l.SettleOpenCode(filepath.Join(l.Home, ".config/opencode"))
	l.Write(".config/opencode-models.json", "{}\n")
}

// SettleOpenCode makes OpenCode believe that npm has already run in a folder of its configuration.
// At every start 1.18.33 runs npm to install @opencode-ai/plugin in each such folder, unless
// node_modules is there and the lock file names the package. With a plugin in the folder the screen
// stays black until npm has ended; without a network that takes more than a minute.
func (l *Lab) SettleOpenCode(folder string) {
	l.t.Helper()
	writeFile(l.t, filepath.Join(folder, "package-lock.json"), mustJSON(map[string]any{"packages": map[string]any{
		"": map[string]any{"dependencies": map[string]any{"@opencode-ai/plugin": "1.18.33"}}}}))
	writeFile(l.t, filepath.Join(folder, "node_modules/.keep"), "")
}

// OpenCodeEnv returns the environment of OpenCode; its configuration file names the model.
func (l *Lab) OpenCodeEnv() []string {
	return l.Env(
		"OPENCODE_DISABLE_AUTOUPDATE=1",
		"OPENCODE_DISABLE_MODELS_FETCH=1",
		// The list of all providers is empty: reading the real one costs more than a second at
		// every start.
		"OPENCODE_MODELS_PATH="+filepath.Join(l.Home, ".config/opencode-models.json"),
		"OPENCODE_DISABLE_LSP_DOWNLOAD=1",
	)
}

// OpenCodeRun starts `opencode run` with pipes. It answers one prompt and ends.
func (l *Lab) OpenCodeRun(args ...string) *Proc {
	l.t.Helper()
	p := l.run(OpenCode, l.OpenCodeEnv(), append([]string{"run"}, args...)...)
	p.CloseInput() // otherwise OpenCode waits for more of the prompt on its input
	return p
}

// OpenCodeTUI starts OpenCode on a terminal and returns when the prompt is there.
func (l *Lab) OpenCodeTUI(args ...string) *Proc {
	l.t.Helper()
	return l.tui(OpenCode, l.OpenCodeEnv(), []string{"Ask anything"}, args...)
}
