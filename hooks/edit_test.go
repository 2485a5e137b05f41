package hooks

import (
	"slices"
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
	} {
		e, err := ParseEdit([]byte(event))
		if err != nil || !slices.Equal(e.Paths, want) {
			t.Errorf("%s: %q, %v", event, e.Paths, err)
		}
	}
	if _, err := ParseEdit([]byte(`{"tool_input":[]}`)); err == nil {
		t.Error("an event of another form is read")
	}
}
