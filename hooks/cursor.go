package hooks

// cursor is Cursor by its documentation of 2026-11. What its stop hook answers is sent as the person's next message, and
// of what postToolUse adds nobody says whose words it counts as: so mail is only announced. A subagent has a conversation
// of its own, in which the person never writes: so a tool call tells only in the one where its person has written last, and
// stop comes at no subagent's end. Its hooks and its MCP server are not told of each other; both run below the process of
// the window.
func cursor() protocol {
	return protocol{
		name:   "cursor",
		limit:  8000,
		length: func(text string) int { return len(text) },
		shows: func(e Event) content {
			switch {
			case e.Name == "stop" && e.Status == "completed" && e.Loops == 0.0, e.Name == "postToolUse" && e.AgentID == "":
				return notice
			}
			return nothing
		},
		encode: func(e Event, text, _ string) any {
			if e.Name == "stop" {
				return map[string]string{"followup_message": text}
			}
			return map[string]string{"additional_context": text}
		},
		prompted:  "beforeSubmitPrompt",
		often:     []string{"postToolUse"},
		byProcess: true,
	}
}
