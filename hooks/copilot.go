package hooks

import (
	"strings"

	"c2c/client"
)

// copilot is GitHub Copilot CLI 1.0.102. Events whose names begin with a capital letter have the same fields as Claude
// Code's, and take the same answers. The model gets the text of PostToolUse after the tool's result, and the reason of Stop
// as the next prompt. It gets the text of UserPromptSubmit in a system tag. That text is lost if the prompt is the client's
// own notice that a background command has ended. In a subagent each event has agent_id.
func copilot() protocol {
	return protocol{
		name:   "copilot",
		limit:  9000,
		length: func(text string) int { return len(text) },
		shows: func(e Event) content {
			switch {
			case e.AgentID != "":
			case e.Name == "PostToolUse", e.Name == "Stop" && !e.StopHookActive:
				return bodies
			case e.Name == "UserPromptSubmit" && !strings.HasPrefix(string(e.Prompt), "<system_notification>"):
				return notice
			}
			return nothing
		},
		// Only this event shows that a dialog opens. Our extension reports that the dialog is closed.
		does: func(e Event) string {
			if e.Name == "Notification" && e.Notification == "permission_prompt" {
				return client.Waiting
			}
			return ""
		},
		beforeTool: "PreToolUse",
		editors:    []string{"Write", "Edit"}, // the names that these events give to the tools create and edit
		encode: func(e Event, text, _ string) any {
			if e.Name == "Stop" {
				return map[string]string{"decision": "block", "reason": text}
			}
			return map[string]string{"additionalContext": text}
		},
	}
}
