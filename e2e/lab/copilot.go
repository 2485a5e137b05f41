package lab

import "path/filepath"

// SeedCopilot writes the answers to the questions of Copilot's first start, and adds the given
// settings to ~/.copilot/settings.json.
func (l *Lab) SeedCopilot(settings map[string]any) {
	l.t.Helper()
	l.Write(".copilot/settings.json", mustJSON(merge(map[string]any{
		"banner":                "never",
		"defaultPermissionMode": "allow-all",
		"autoUpdate":            false,
		"memory":                false,
		"showTipsOnStartup":     false,
	}, settings)))
	l.Write(".copilot/config.json", mustJSON(map[string]any{"trustedFolders": []string{l.Project}}))
}

// CopilotEnv returns the environment in which Copilot uses model, without a login.
func (l *Lab) CopilotEnv(model *Model) []string {
	return l.Env(
		"COPILOT_PROVIDER_BASE_URL="+model.URL+"/v1",
		"COPILOT_PROVIDER_API_KEY=lab-key",
		"COPILOT_MODEL=lab-model",
		"COPILOT_PROVIDER_MAX_PROMPT_TOKENS=200000", // otherwise Copilot warns that it does not know the model
		"COPILOT_PROVIDER_MAX_OUTPUT_TOKENS=8000",
		"COPILOT_OFFLINE=true",
		"COPILOT_AUTO_UPDATE=false",
		// The program unpacks 235 MB into this directory; without the variable it would unpack them
		// into every home.
		"COPILOT_PKG_CACHE_HOME="+filepath.Join(l.programs.Scratch, "copilot"),
	)
}

// CopilotPrompt starts `copilot -p` with pipes. It answers one prompt and ends.
func (l *Lab) CopilotPrompt(model *Model, prompt string, args ...string) *Proc {
	l.t.Helper()
	p := l.run(Copilot, l.CopilotEnv(model), append([]string{"-p", prompt, "--allow-all"}, args...)...)
	p.CloseInput()
	return p
}

// CopilotTUI starts Copilot on a terminal and returns when the prompt is there.
func (l *Lab) CopilotTUI(model *Model, args ...string) *Proc {
	l.t.Helper()
	return l.tui(Copilot, l.CopilotEnv(model), []string{"? help"}, args...)
}
