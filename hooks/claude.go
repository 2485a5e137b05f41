package hooks

import (
	"encoding/json"
	"path/filepath"
	"unicode/utf16"

	"c2c/inbox/atomicfile"
)

// PluginEnv is set for the hooks of a plugin from the client's marketplace, by Claude Code and by Codex (0.169.0).
const PluginEnv = "CLAUDE_PLUGIN_ROOT"

// claude is Claude Code 2.1.329. It replaces more than 10,000 characters of context, in UTF-16 units, by
// a pointer to a file. A subagent's hook would put mail in front of the subagent. A Stop hook that answered
// its own continuation would never let the turn end. What a SessionStart hook shows would lie beside an
// empty prompt, and be gone if nobody types: the session is rung for it.
func claude() protocol {
	return protocol{
		name:   "claude",
		limit:  9500,
		length: func(text string) int { return len(utf16.Encode([]rune(text))) },
		shows: func(e Event) content {
			switch {
			case e.Name == "PostToolUse" && e.AgentID == "", e.Name == "Stop" && !e.StopHookActive, e.Name == "UserPromptSubmit":
				return bodies
			}
			return nothing
		},
		encode:   context,
		answered: byTools,
		hides:    func(e Event) bool { return e.Name != "Stop" },
		watch:    "SessionStart", change: "FileChanged", script: true,
		inbound: func(config string, getenv func(string) string) string {
			if set := ClaudeInbound(config, getenv); set != "" {
				return "its person set crossSessionInbound to " + set
			}
			return ""
		},
	}
}

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
