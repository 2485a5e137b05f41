package hooks

import "c2c/client"

func init() { register("codex", codex) }

// codex is Codex 0.169.0. For its model, the context from a hook has a developer's authority, which
// a peer's words must not have. Only the reason of a Stop hook comes as a user message, so only
// Stop brings the texts of messages. Codex cuts the reason at about 10 KB.
func codex() protocol {
	return protocol{
		limit:  9500,
		length: func(text string) int { return len(text) },
		shows: func(e Event) content {
			switch {
			case e.Name == "Stop" && !e.StopHookActive:
				return bodies
			case e.Name == "PostToolUse" && e.AgentID == "", e.Name == "UserPromptSubmit", e.Name == "SessionStart":
				return notice
			}
			return nothing
		},
		encode:         blockOrContext,
		answered:       byTools,
		leavesMailAt:   "Stop", // Codex shows "Blocked by hook" above the answer
		carryingPrefix: client.CodexLine,
	}
}
