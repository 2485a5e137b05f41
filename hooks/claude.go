package hooks

import (
	"unicode/utf16"

	"c2c/client"
)

// PluginEnv is the variable that Claude Code and Codex (0.169.0) set for the hooks of a plugin from their marketplace.
const PluginEnv = "CLAUDE_PLUGIN_ROOT"

// claude is Claude Code 2.1.329. It replaces more than 10,000 characters of context, in UTF-16 units, with a
// pointer to a file. A subagent's hook would show the mail to the subagent. A Stop hook that answered its own
// continuation would never let the turn end. If a SessionStart hook showed mail, the model would get it only with
// the next prompt, and never if the person types none: so a ringer rings the session instead.
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
