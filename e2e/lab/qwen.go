package lab

// SeedQwen writes ~/.qwen/settings.json: the first start answered, every tool allowed, and the given settings.
func (l *Lab) SeedQwen(settings map[string]any) {
	l.t.Helper()
	l.Write(".qwen/settings.json", mustJSON(merge(map[string]any{
		"security":  map[string]any{"auth": map[string]any{"selectedType": "openai"}},
		"general":   map[string]any{"enableAutoUpdate": false},
		"privacy":   map[string]any{"usageStatisticsEnabled": false},
		"telemetry": map[string]any{"enabled": false},
		// These ask the model for more, with tools, when a turn is over.
		"memory": map[string]any{"enableManagedAutoMemory": false, "enableManagedAutoDream": false},
		// It asks the model what the person may say next; Enter on an empty prompt takes that.
		"ui": map[string]any{"enableFollowupSuggestions": false},
		// Its own rg is not executable without the scripts of npm, and a box says so.
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
