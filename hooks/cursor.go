package hooks

func init() { register("cursor", cursor) }

// cursor is Cursor, according to its documentation of 2026-11. Cursor sends the answer of a stop
// hook as the person's next message, and does not document with whose authority the model reads the
// text of postToolUse. So c2c's hooks only announce mail. A subagent has its own conversation, in
// which the person never writes. So a tool call announces mail only in the conversation in which
// the person has written last. At a subagent's end no stop hook runs. Cursor gives its hooks and
// its MCP server no common id. But both run below the process of the window, so c2c finds the
// session by this process.
func cursor() protocol {
	return protocol{
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
