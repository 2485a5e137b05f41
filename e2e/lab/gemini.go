package lab

import (
	"slices"
	"strings"
)

// SeedGemini writes ~/.gemini/settings.json: the answers to the questions of the first start, and
// the given settings.
func (l *Lab) SeedGemini(settings map[string]any) {
	l.t.Helper()
	l.Write(".gemini/settings.json", mustJSON(merge(map[string]any{
		"security": map[string]any{
			"auth":        map[string]any{"selectedType": "gemini-api-key"},
			"folderTrust": map[string]any{"enabled": false},
		},
		"general":   map[string]any{"enableAutoUpdate": false, "enableAutoUpdateNotification": false},
		"privacy":   map[string]any{"usageStatisticsEnabled": false},
		"telemetry": map[string]any{"enabled": false},
		"model":     map[string]any{"name": "gemini-2.5-flash"}, // otherwise Gemini CLI asks another model which one to use
		"tools":     map[string]any{"useRipgrep": false},        // the client would download ripgrep
	}, settings)))
}

// GeminiEnv returns the environment in which Gemini CLI uses model.
func (l *Lab) GeminiEnv(model *Model) []string {
	return l.Env("GOOGLE_GEMINI_BASE_URL="+model.URL, "GEMINI_API_KEY=lab-key")
}

// GeminiPrompt starts `gemini -p` with pipes, with every tool allowed. It answers one prompt and
// ends.
func (l *Lab) GeminiPrompt(model *Model, prompt string, args ...string) *Proc {
	l.t.Helper()
	p := l.run(Gemini, l.GeminiEnv(model), append([]string{"--yolo", "-p", prompt}, args...)...)
	p.CloseInput()
	return p
}

// GeminiTUI starts Gemini CLI on a terminal and returns when the prompt is there. Every tool is
// allowed, unless an argument is --approval-mode; settings cannot allow them.
func (l *Lab) GeminiTUI(model *Model, args ...string) *Proc {
	l.t.Helper()
	if !slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "--approval-mode") }) {
		args = append([]string{"--yolo"}, args...)
	}
	p := l.tui(Gemini, l.GeminiEnv(model), []string{"Type your message"}, args...)
	// 0.61.0 takes an Enter for a part of the text if it comes 30 ms after a letter, or 40 ms after
	// a paste. An Enter that comes too early after the text is drawn submits only an older part of
	// the text, and drops the rest. The screen does not show when Enter is safe, so this is the
	// only client for which a fixed time is used.
	p.TypeSlowly()
	return p
}
