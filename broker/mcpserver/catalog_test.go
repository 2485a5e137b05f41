package mcpserver

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
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
	var listed []mcp.Tool
	for _, tool := range catalog() {
		listed = append(listed, tool.listed())
	}
	tools, err := json.MarshalIndent(listed, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "tools.json", append(tools, '\n'))

	want := map[string]effect{
		"register": writes, "whoami": reads, "list": reads, "send": writes, "reply": writes, "ask": writes, "send_all": writes,
		"poll_inbox": writes, "peek_inbox": reads, "history": reads, "message_status": reads, "thread": reads,
		"sweep": removes, "server_info": reads, "runtime_diagnostics": reads, "tail_log": reads,
	}
	for _, tool := range listed {
		e, ok := want[tool.Name]
		if !ok {
			t.Errorf("unexpected tool %s", tool.Name)
		}
		delete(want, tool.Name)
		// A hint that is left out has the default of the protocol.
		said := func(hint *bool, usual bool) bool {
			if hint == nil {
				return usual
			}
			return *hint
		}
		a := tool.Annotations
		readOnly, openWorld := said(a.ReadOnlyHint, false), said(a.OpenWorldHint, true)
		destructive := !readOnly && said(a.DestructiveHint, true)
		if readOnly != (e == reads) || destructive != (e == removes) || openWorld {
			t.Errorf("%s: read-only %v, destructive %v, open world %v", tool.Name, readOnly, destructive, openWorld)
		}
		var schema struct{ Properties map[string]any }
		if err := json.Unmarshal(tool.RawInputSchema, &schema); err != nil || schema.Properties == nil {
			t.Errorf("%s: %v: a schema without properties: %s", tool.Name, err, tool.RawInputSchema)
		}
	}
	for _, tool := range catalog() {
		if err := tool.check(map[string]any{"unknown": 1}); err == nil || !strings.Contains(err.Error(), "it takes no unknown") {
			t.Errorf("%s takes unknown arguments: %v", tool.name, err)
		}
	}
	for name := range want {
		t.Errorf("no tool %s", name)
	}
}

func TestArgumentsThatAToolDoesNotTakeAreNamed(t *testing.T) {
	tools := map[string]tool{}
	for _, tool := range catalog() {
		tools[tool.name] = tool
	}
	for _, tc := range [][3]string{
		{"send", `{"to_alias":"amber","content":"hi"}`, ""},
		{"send", `{"alias":"amber","content":"hi","from_alias":"birch"}`, ""},
		{"send", `{"content":"hi"}`, "send: it needs to_alias"},
		{"send", `{"body":1,"topic":2}`, "send: it needs to_alias and content; it takes no body and no topic"},
		{"send", `{"to_alias":"amber","content":""}`, "send: content is empty"},
		{"send", `{"to_alias":"amber","content":"hi","deferrable":"yes"}`, "send: deferrable: got string, want boolean"},
		{"send", `{"to_alias":"amber","content":"hi","ttl":null}`, "send: ttl: got null, want string"},
		{"send", `{"to_alias":["amber"],"content":{}}`, "send: to_alias: got array, want string; content: got object, want string"},
		{"reply", `{"text":"hi"}`, ""},
		{"reply", `{"text":""}`, "reply: text is empty"},
		{"reply", `{"content":"hi","files":["a",1]}`, "reply: files.1: got integer, want string"},
		{"reply", `{"content":"hi","files":["","","","","","","","","","",""]}`, "reply: files: got 11, want 10 or less"},
		{"ask", `{"to_alias":"amber","content":"hi","wait_seconds":601}`, "ask: wait_seconds: got 601, want 600 or less"},
		{"ask", `{"to_alias":"amber","content":"hi","wait_seconds":0.5}`, "ask: wait_seconds: got number, want integer"},
		{"history", `{"limit":5.0}`, ""},
		{"history", `[]`, "history: arguments: got array, want object"},
		{"history", `null`, ""},
		{"poll_inbox", `{"session_id":"amber"}`, ""},
		{"peek_inbox", `{"session_id":"amber"}`, "peek_inbox: it takes no session_id"},
	} {
		var arguments any
		if err := json.Unmarshal([]byte(tc[1]), &arguments); err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := tools[tc[0]].check(arguments); err != nil {
			got = err.Error()
		}
		if got != tc[2] {
			t.Errorf("%s of %s: %q, want %q", tc[0], tc[1], got, tc[2])
		}
	}
}
