package hooks

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
)

// Edit is an event before a tool call that may change files.
type Edit struct {
	SessionID string
	Paths     []string // absolute
}

// ParseEdit reads the event before a tool call, in the form that Claude Code invented. Paths is
// empty if the event names no file that the tool changes. A shell command may change files that its
// event does not name.
func ParseEdit(r io.Reader) (e Edit, err error) {
	var event struct {
		SessionID string `json:"session_id"`
		Cwd       string `json:"cwd"`
		Tool      string `json:"tool_name"`
		Input     tool   `json:"tool_input"`
	}
	if err := json.NewDecoder(io.LimitReader(r, maxEvent)).Decode(&event); err != nil {
		return e, fmt.Errorf("read hook event: %w", err)
	}
	e.SessionID = event.SessionID
	names := []string{event.Input.Path}
	if patch := event.Input.Patch + "\n" + event.Input.Command; event.Tool == "apply_patch" || strings.Contains(patch, patchBegins) {
		names = patched(patch)
	}
	for _, name := range names {
		if name != "" && !filepath.IsAbs(name) && filepath.IsAbs(event.Cwd) {
			name = filepath.Join(event.Cwd, name)
		}
		if filepath.IsAbs(name) {
			e.Paths = append(e.Paths, name)
		}
	}
	return e, nil
}

// patchBegins is the first line of a patch. Models without a tool for patches give them to a shell
// command.
const patchBegins = "*** Begin Patch"

// patched returns the files that a patch changes.
func patched(patch string) (names []string) {
	for line := range strings.Lines(patch) {
		for _, head := range []string{"*** Update File: ", "*** Add File: ", "*** Delete File: ", "*** Move to: "} {
			if name, ok := strings.CutPrefix(strings.TrimSpace(line), head); ok {
				names = append(names, name)
			}
		}
	}
	return names
}

// Edits returns the absolute path of the file that the event's tool call changes. The result before
// is true if the call is still to come. The path is "" if the event names no such file, or if the
// client's protocol lists no tools that edit files.
func (e Event) Edits() (path string, before bool) {
	if !slices.Contains(e.protocol.editors, e.Tool) {
		return "", false
	}
	path = e.Input.Path
	if dir, ok := e.Cwd.(string); ok && path != "" && !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	before = e.Name == e.protocol.beforeTool
	if !filepath.IsAbs(path) || !before && (!e.UsesTool() || bool(e.ToolFailed)) {
		return "", false
	}
	return path, before
}

// RefuseEdit returns the answer, as JSON, that refuses the tool call of this event.
func (e Event) RefuseEdit(reason string) ([]byte, error) {
	if e.Name == "BeforeTool" {
		return json.Marshal(map[string]string{"decision": "deny", "reason": reason})
	}
	return json.Marshal(EditAnswer(reason, true))
}

// EditAnswer returns the answer to an Edit. If refuse is true, it refuses the call, and text is the
// reason; otherwise the model gets text.
func EditAnswer(text string, refuse bool) any {
	own := map[string]string{"hookEventName": "PreToolUse"}
	if refuse {
		own["permissionDecision"], own["permissionDecisionReason"] = "deny", text
	} else {
		own["additionalContext"] = text
	}
	return map[string]any{"hookSpecificOutput": own}
}
