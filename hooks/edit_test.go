package hooks

import (
	"slices"
	"strings"
	"testing"
)

func TestAnEditNamesItsFiles(t *testing.T) {
	for event, want := range map[string][]string{
		`{"session_id":"s","cwd":"/p","tool_name":"Edit","tool_input":{"file_path":"/p/a.go","old_string":"x"}}`:                                   {"/p/a.go"},
		`{"cwd":"/p","tool_name":"NotebookEdit","tool_input":{"notebook_path":"n.ipynb"}}`:                                                         {"/p/n.ipynb"},
		`{"cwd":"/p","tool_name":"apply_patch","tool_input":{"command":"*** Begin Patch\n*** Update File: a.go\n*** Move to: b.go\n+x\n"}}`:        {"/p/a.go", "/p/b.go"},
		`{"cwd":"/p","tool_name":"apply_patch","tool_input":{"command":["apply_patch","*** Add File: /q/c.go\n+*** Update File: no.go"]}}`:         {"/q/c.go"},
		`{"cwd":"/p","tool_name":"Bash","tool_input":{"command":"apply_patch <<'E'\n*** Begin Patch\n*** Delete File: a.go\n*** End Patch\nE\n"}}`: {"/p/a.go"},
		`{"cwd":"/p","tool_name":"Bash","tool_input":{"command":"rm a.go"}}`:                                                                       nil,
		`{"tool_name":"Edit","tool_input":{"file_path":"a.go"}}`:                                                                                   nil,
		`{"tool_name":"Edit"}`: nil,
		`{"tool_input":[]}`:    nil,
	} {
		e, err := ParseEdit(strings.NewReader(event))
		if err != nil || !slices.Equal(e.Paths, want) {
			t.Errorf("%s: %q, %v", event, e.Paths, err)
		}
	}
	if _, err := ParseEdit(strings.NewReader(`[]`)); err == nil {
		t.Error("an event of another form is read")
	}
}

// The answer to an event after a read has no warning, nor that of a client whose hooks answer such
// events in another way.
func TestAnEventNamesTheFileThatItsToolChanges(t *testing.T) {
	for _, c := range []struct {
		client, event, path string
		before              bool
	}{
		{"gemini", `{"hook_event_name":"BeforeTool","cwd":"/p","tool_name":"replace","tool_input":{"file_path":"a.go"}}`, "/p/a.go", true},
		{"gemini", `{"hook_event_name":"AfterTool","cwd":"/p","tool_name":"write_file","tool_input":{"file_path":"/q/a.go"},"tool_response":{"llmContent":"x"}}`, "/q/a.go", false},
		{"gemini", `{"hook_event_name":"AfterTool","tool_name":"write_file","tool_input":{"file_path":"/q/a.go"},"tool_response":{"error":{}}}`, "", false},
		{"gemini", `{"hook_event_name":"AfterTool","tool_name":"read_file","tool_input":{"file_path":"/q/a.go"}}`, "", false},
		{"gemini", `{"hook_event_name":"AfterTool","cwd":7,"tool_name":"replace","tool_input":{"file_path":"a.go"}}`, "", false},
		{"qwen", `{"hook_event_name":"PreToolUse","tool_name":"edit","tool_input":{"file_path":"/q/a.go"}}`, "/q/a.go", true},
		{"qwen", `{"hook_event_name":"PostToolUse","tool_name":"edit","tool_input":{"file_path":"/q/a.go"}}`, "/q/a.go", false},
		{"qwen", `{"hook_event_name":"PostToolUse","agent_id":"a","tool_name":"edit","tool_input":{"file_path":"/q/a.go"}}`, "", false},
		{"copilot", `{"hook_event_name":"PreToolUse","tool_name":"Edit","tool_input":{"path":"/q/a.go"}}`, "/q/a.go", true},
		{"claude", `{"hook_event_name":"PostToolUse","tool_name":"Edit","tool_input":{"file_path":"/q/a.go"}}`, "", false},
	} {
		e, err := Parse(c.client, strings.NewReader(c.event))
		if path, before := e.Edits(); err != nil || path != c.path || before != c.before {
			t.Errorf("%s: %q, %v, %v", c.event, path, before, err)
		}
	}
}
