package install

import (
	"slices"
	"strings"
	"testing"
)

// Cursor ignores the whole file for one event that is not in its documentation (agent/hooks,
// 2026-11).
func TestCursorIsAskedForEventsOfItsDocumentation(t *testing.T) {
	documented := strings.Fields(`sessionStart sessionEnd preToolUse postToolUse postToolUseFailure subagentStart subagentStop
		beforeShellExecution afterShellExecution beforeMCPExecution afterMCPExecution beforeReadFile afterFileEdit
		beforeSubmitPrompt preCompact stop afterAgentResponse afterAgentThought beforeTabFileRead afterTabFileEdit`)
	for _, file := range cursorFiles(Options{Home: "/home/you", Binary: "/bin/c2c", Getenv: func(string) string { return "" }}) {
		e, ok := file.editor.(cursorHooks)
		if !ok {
			continue
		}
		for _, event := range e.events {
			if !slices.Contains(documented, event.name) {
				t.Errorf("event %q", event.name)
			}
		}
		return
	}
	t.Error("there are no hooks")
}
