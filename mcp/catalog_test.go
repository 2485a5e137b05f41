package mcp

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"

	"c2c/mcp/tools"
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
	golden(t, "instructions.txt", []byte(tools.Instructions+"\n"))
	if n := strings.Count(tools.Instructions, "\n") + 1; n > 12 {
		t.Errorf("%d lines, want at most 12", n)
	}
}

func TestCatalogIsWhatClientsNeed(t *testing.T) {
	var listed []mcp.Tool
	for _, tool := range tools.Catalog() {
		listed = append(listed, tool.Listed())
	}
	toolList, err := json.MarshalIndent(listed, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "tools.json", append(toolList, '\n'))

	for _, tool := range listed {
		var schema struct{ Properties map[string]any }
		if err := json.Unmarshal(tool.RawInputSchema, &schema); err != nil || schema.Properties == nil {
			t.Errorf("%s: %v: a schema without properties: %s", tool.Name, err, tool.RawInputSchema)
		}
	}
	for _, tool := range tools.Catalog() {
		if err := tool.Check(map[string]any{"unknown": 1}); err == nil || !strings.Contains(err.Error(), "it takes no unknown") {
			t.Errorf("%s takes unknown arguments: %v", tool.Name, err)
		}
	}
}

func TestArgumentsThatAToolDoesNotTakeAreNamed(t *testing.T) {
	toolList := map[string]tools.Tool{}
	for _, tool := range tools.Catalog() {
		toolList[tool.Name] = tool
	}
	for _, tc := range [][3]string{
		{"send", `{"to_alias":"amber","content":"hi"}`, ""},
		{"send", `{"alias":"amber","content":"hi","from_alias":"birch"}`, ""},
		{"send", `{"content":"hi"}`, "send: it needs to_alias"},
		{"send", `{"body":1,"topic":2}`, "send: it needs to_alias and content; it takes no body and no topic, but to_alias, content, in_reply_to, kind, tag, deferrable, answer_by, ttl, tell_after, ephemeral, message_id"},
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
		if err := toolList[tc[0]].Check(arguments); err != nil {
			got = err.Error()
		}
		if got != tc[2] {
			t.Errorf("%s of %s: %q, want %q", tc[0], tc[1], got, tc[2])
		}
	}
}
