package hooks

import (
	"unicode/utf16"

	"c2c/client"
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
			if set := client.ClaudeInbound(config, getenv); set != "" {
				return "its person set crossSessionInbound to " + set
			}
			return ""
		},
	}
}
