package hooks

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
)

// Edit is an event before a tool call that may change files.
type Edit struct {
	SessionID string
	Paths     []string // absolute
}

// ParseEdit reads the event before a tool call, in the form that Claude Code invented. Paths is empty if the tool changes no files that
// the event names: a shell command may change any.
func ParseEdit(data []byte) (e Edit, err error) {
	var event struct {
		SessionID string `json:"session_id"`
		Cwd       string `json:"cwd"`
		Tool      string `json:"tool_name"`
		Input     edited `json:"tool_input"`
	}
	if err := json.Unmarshal(data, &event); err != nil {
		return e, err
	}
	e.SessionID = event.SessionID
	in := event.Input
	names := []string{in.FilePath, in.Notebook, in.Absolute, in.Path}
	if patch := in.patch(); event.Tool == "apply_patch" || strings.Contains(patch, patchBegins) {
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

// edited has the fields of a tool's input that may name files.
type edited struct {
	FilePath string `json:"file_path"`
	Notebook string `json:"notebook_path"`
	Absolute string `json:"absolute_path"`
	Path     string `json:"path"`
	Command  any    `json:"command"`
	Patch    string `json:"input"`
}

// patchBegins is the first line of a patch. Models without a tool for patches give them to a shell command.
const patchBegins = "*** Begin Patch"

func (in edited) patch() string {
	text := in.Patch
	switch command := in.Command.(type) {
	case string:
		text += "\n" + command
	case []any:
		for _, word := range command {
			if word, ok := word.(string); ok {
				text += "\n" + word
			}
		}
	}
	return text
}

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

// Edits returns the file that the event's tool call changes, absolute, and whether the call is still to come; "" if it changes none
// that the event names, or the client answers such events in another way.
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

// RefuseEdit is the answer that refuses the tool call that the event announces, in JSON.
func (e Event) RefuseEdit(reason string) ([]byte, error) {
	if e.Name == "BeforeTool" {
		return json.Marshal(map[string]string{"decision": "deny", "reason": reason})
	}
	return json.Marshal(EditAnswer(reason, true))
}

// EditAnswer is the answer to an Edit: a text for the model, or a refusal of the call with it.
func EditAnswer(text string, refuse bool) any {
	own := map[string]string{"hookEventName": "PreToolUse"}
	if refuse {
		own["permissionDecision"], own["permissionDecisionReason"] = "deny", text
	} else {
		own["additionalContext"] = text
	}
	return map[string]any{"hookSpecificOutput": own}
}
