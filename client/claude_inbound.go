package client

import (
	"encoding/json"
	"path/filepath"

	"c2c/internal/atomicfile"
)

// The values of Claude Code's setting crossSessionInbound with which a person limits messages from
// other sessions.
const (
	ClaudeHolds   = "hold" // a message waits until the person accepts it
	ClaudeRefuses = "refuse"
)

// maxSettings bounds a settings file, in bytes.
const maxSettings = 1 << 20

// ClaudeInbound returns ClaudeHolds, ClaudeRefuses, or "" if the client takes messages of other
// sessions. If several settings files have the setting, the strictest value counts, because a
// project may only tighten the person's setting (2.1.329).
func ClaudeInbound(config string, getenv func(string) string) (inbound string) {
	files := []string{filepath.Join(config, "settings.json"), "/etc/claude-code/managed-settings.json",
		"/Library/Application Support/ClaudeCode/managed-settings.json"}
	if project := getenv("CLAUDE_PROJECT_DIR"); project != "" {
		files = append(files, filepath.Join(project, ".claude", "settings.json"), filepath.Join(project, ".claude", "settings.local.json"))
	}
	for _, path := range files {
		switch said := inboundIn(path); {
		case said == ClaudeRefuses:
			return said
		case said == ClaudeHolds:
			inbound = said
		}
	}
	return inbound
}

// inboundIn returns the setting in a file; "" if the file is missing or damaged, because then the
// client cannot read it either.
func inboundIn(path string) string {
	var settings struct {
		Inbound string `json:"crossSessionInbound"`
	}
	data, err := atomicfile.ReadForeign(path, maxSettings)
	if err != nil || json.Unmarshal(data, &settings) != nil {
		return ""
	}
	return settings.Inbound
}
