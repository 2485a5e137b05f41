package hooks

import (
	"os"
	"slices"
	"strconv"
	"strings"

	"c2c/client"
	"c2c/internal/proc"
)

func init() { register("copilot", copilot) }

// copilot is GitHub Copilot CLI 1.0.102. Events whose names begin with a capital letter have the
// same fields as Claude Code's, and take the same answers. The model gets the text of PostToolUse
// after the tool's result, and the reason of Stop as the next prompt. It gets the text of
// UserPromptSubmit in a system tag. That text is lost if the prompt is the client's own notice that
// a background command has ended. In a subagent each event has agent_id.
//
// The event PermissionRequest has other fields than the others. It comes before the client's own
// rules, and an answer that allows the tool spares the person the question.
func copilot() protocol {
	return protocol{
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
		// Only this event shows that a dialog opens. Our extension reports that the dialog is
		// closed.
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

// Allows returns the answer that lets the client run a tool of c2c without asking its person; nil:
// the event asks for nothing of the kind. The answer would win over the option --deny-tool, so a
// client that runs with such an option gets none.
func (e Event) Allows(getenv func(string) string) []byte {
	if e.Name != "" || !strings.HasPrefix(e.Asks, "c2c/") {
		return nil
	}
	loader, _ := strconv.Atoi(getenv("COPILOT_LOADER_PID"))
	for _, pid := range []int{os.Getppid(), loader} {
		if slices.ContainsFunc(proc.Args(pid), func(arg string) bool { return strings.HasPrefix(arg, "--deny-tool") }) {
			return nil
		}
	}
	return []byte(`{"behavior":"allow"}` + "\n")
}
