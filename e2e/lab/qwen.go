package lab

// SeedQwen writes ~/.qwen/settings.json: the answers to the first start's questions, every tool allowed, the given settings.
func (l *Lab) SeedQwen(settings map[string]any) {
	l.t.Helper()
	l.Write(".qwen/settings.json", mustJSON(merge(map[string]any{
		"security":  map[string]any{"auth": map[string]any{"selectedType": "openai"}},
		"general":   map[string]any{"enableAutoUpdate": false},
		"privacy":   map[string]any{"usageStatisticsEnabled": false},
		"telemetry": map[string]any{"enabled": false},
		// These features call the model again, with tools, after a turn.
		"memory": map[string]any{"enableManagedAutoMemory": false, "enableManagedAutoDream": false},
		// This feature asks the model for the next prompt, which Enter on an empty prompt would send.
		"ui": map[string]any{"enableFollowupSuggestions": false},
		// Its own rg is not executable without npm's install scripts, and a box on the screen says so.
		"tools": map[string]any{"approvalMode": "yolo", "useRipgrep": false},
	}, settings)))
}

// QwenEnv is the environment in which Qwen asks model.
func (l *Lab) QwenEnv(model *Model) []string {
	return l.Env("OPENAI_BASE_URL="+model.URL+"/v1", "OPENAI_API_KEY=lab-key", "OPENAI_MODEL=lab-model")
}

// QwenPrompt starts `qwen -p` with pipes; it answers one prompt and ends.
func (l *Lab) QwenPrompt(model *Model, prompt string, args ...string) *Proc {
	l.t.Helper()
	p := l.run(Qwen, l.QwenEnv(model), append([]string{"-p", prompt}, args...)...)
	p.CloseInput()
	return p
}

// QwenTUI starts Qwen on a terminal and returns when its prompt is there.
func (l *Lab) QwenTUI(model *Model, args ...string) *Proc {
	l.t.Helper()
	return l.tui(Qwen, l.QwenEnv(model), []string{"Type your message"}, args...)
}
