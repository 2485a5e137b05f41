package lab

// SeedQwen writes ~/.qwen/settings.json: the answers to the questions of the first start, every
// tool allowed, and the given settings.
func (l *Lab) SeedQwen(settings map[string]any) {
	l.t.Helper()
	l.Write(".qwen/settings.json", mustJSON(merge(map[string]any{
		"security":  map[string]any{"auth": map[string]any{"selectedType": "openai"}},
		"general":   map[string]any{"enableAutoUpdate": false},
		"privacy":   map[string]any{"usageStatisticsEnabled": false},
		"telemetry": map[string]any{"enabled": false},
		// These features call the model again after a turn, with tools.
		"memory": map[string]any{"enableManagedAutoMemory": false, "enableManagedAutoDream": false},
		// This feature asks the model for a next prompt, which Enter on an empty prompt would send.
		"ui": map[string]any{"enableFollowupSuggestions": false},
		// The client's own rg is not executable if npm's install scripts have not run, and a box on
		// the screen would report that.
		"tools": map[string]any{"approvalMode": "yolo", "useRipgrep": false},
	}, settings)))
}

// QwenEnv returns the environment in which Qwen Code uses model.
func (l *Lab) QwenEnv(model *Model) []string {
	return l.Env("OPENAI_BASE_URL="+model.URL+"/v1", "OPENAI_API_KEY=lab-key", "OPENAI_MODEL=lab-model")
}

// QwenPrompt starts `qwen -p` with pipes. It answers one prompt and ends.
func (l *Lab) QwenPrompt(model *Model, prompt string, args ...string) *Proc {
	l.t.Helper()
	p := l.run(Qwen, l.QwenEnv(model), append([]string{"-p", prompt}, args...)...)
	p.CloseInput()
	return p
}

// QwenTUI starts Qwen Code on a terminal and returns when the prompt is there.
func (l *Lab) QwenTUI(model *Model, args ...string) *Proc {
	l.t.Helper()
	return l.tui(Qwen, l.QwenEnv(model), []string{"Type your message"}, args...)
}
