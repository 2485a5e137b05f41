package client

import (
	"encoding/json"
	"path/filepath"

	"c2c/inbox/atomicfile"
)

// What the person of a Claude Code may have it do with what other sessions write (crossSessionInbound).
const (
	ClaudeHolds   = "hold" // until they accept it
	ClaudeRefuses = "refuse"
)

// maxSettings bounds a file of settings, in bytes.
const maxSettings = 1 << 20

// ClaudeInbound is ClaudeHolds, ClaudeRefuses, or "" where the client takes what other sessions write. The strictest of
// its files counts, since a project may only tighten the setting of its person (2.1.329).
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

// inboundIn is "" for a file that is not there, or that the client cannot read either.
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
