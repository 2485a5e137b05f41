package hooks

import (
	"time"
	"unicode/utf16"

	"c2c/client"
)

func init() { register("claude", claude) }

// PluginEnv is a variable that Claude Code and Codex (0.169.0) set for the hooks of a plugin from
// their marketplace.
const PluginEnv = "CLAUDE_PLUGIN_ROOT"

// claude is Claude Code 2.1.329. It replaces context of more than 10,000 characters (UTF-16 units)
// with a pointer to a file. Three hooks must not show mail. A hook in a subagent would give the
// mail to the subagent. A Stop hook that shows mail continues the turn; if a Stop hook did so again
// at the end of the continued turn, the turn might never end. The model would see mail from a
// SessionStart hook only with the next prompt, or never; instead a ringer rings the session then.
func claude() protocol {
	return protocol{
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
		dropped:  claudeDropped,
		watch:    "SessionStart", change: "FileChanged", script: true,
		inbound: func(config string, getenv func(string) string) string {
			if set := client.ClaudeInbound(config, getenv); set != "" {
				return "its person has set crossSessionInbound to " + set
			}
			return ""
		},
	}
}

// claudeDropped divides a log. Its hooks' texts are attachments of the prompt.
func claudeDropped(log string, answered time.Time, passed bool) (gone, left []byte) {
	return takenBack(log, answered, passed,
		func(r recordLine) bool { return r.Attachment.HookEvent == "UserPromptSubmit" },
		func(r recordLine) bool { return r.Type == "attachment" })
}
