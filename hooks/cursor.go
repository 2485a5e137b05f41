package hooks

// cursor is Cursor by its documentation of 2026-11. What its stop hook answers is sent as the person's next message, and
// what postToolUse adds a subagent may get, without a mark: so mail is only announced, and only at the end of a turn
// that the person has begun and not stopped. Its hooks and its MCP server are not told of each other; both run below
// the process of the window.
func cursor() protocol {
	return protocol{
		name:   "cursor",
		limit:  8000,
		length: func(text string) int { return len(text) },
		shows: func(e Event) content {
			if e.Name == "stop" && e.Status == "completed" && e.Loops == 0.0 {
				return notice
			}
			return nothing
		},
		encode:    func(_ Event, text string) any { return map[string]string{"followup_message": text} },
		byProcess: true,
	}
}
