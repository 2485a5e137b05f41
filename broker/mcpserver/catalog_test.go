package mcpserver

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs (-update writes it):\n%s", path, got)
	}
}

func TestInstructionsAreShort(t *testing.T) {
	golden(t, "instructions.txt", []byte(instructions+"\n"))
	if n := strings.Count(instructions, "\n") + 1; n > 12 {
		t.Errorf("%d lines, want at most 12", n)
	}
}

func TestCatalogIsWhatClientsNeed(t *testing.T) {
	tools, err := json.MarshalIndent(catalog(), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "tools.json", append(tools, '\n'))

	want := map[string]effect{
		"register": writes, "whoami": reads, "list": reads, "send": writes, "reply": writes, "ask": writes, "send_all": writes,
		"poll_inbox": writes, "peek_inbox": reads, "history": reads, "message_status": reads, "thread": reads,
		"sweep": removes, "server_info": reads, "runtime_diagnostics": reads, "tail_log": reads,
	}
	for _, tool := range catalog() {
		e, ok := want[tool.Name]
		if !ok {
			t.Errorf("unexpected tool %s", tool.Name)
		}
		delete(want, tool.Name)
		a := tool.Annotations
		if *a.ReadOnlyHint != (e == reads) || *a.DestructiveHint != (e == removes) || *a.OpenWorldHint {
			t.Errorf("%s: read-only %v, destructive %v, open world %v", tool.Name, *a.ReadOnlyHint, *a.DestructiveHint, *a.OpenWorldHint)
		}
		if tool.InputSchema.AdditionalProperties != false {
			t.Errorf("%s takes unknown arguments", tool.Name)
		}
	}
	for name := range want {
		t.Errorf("no tool %s", name)
	}
}
