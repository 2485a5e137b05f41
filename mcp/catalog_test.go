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
	if n := len(tools.Instructions); n > 700 {
		t.Errorf("%d bytes, want at most 700", n)
	}
}

func TestCatalogIsWhatClientsNeed(t *testing.T) {
	var listed []mcp.Tool
	var hidden []string
	for _, tool := range tools.Catalog() {
		if tool.Hidden() {
			hidden = append(hidden, tool.Name)
		} else {
			listed = append(listed, tool.Listed())
		}
		if _, err := tool.Arguments(map[string]any{"unknown": 1}); err == nil || !strings.Contains(err.Error(), "it takes no unknown") {
			t.Errorf("%s takes unknown arguments: %v", tool.Name, err)
		}
	}
	toolList, err := json.MarshalIndent(listed, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "tools.json", append(toolList, '\n'))
	golden(t, "hidden.txt", []byte(strings.Join(hidden, "\n")+"\n"))

	for _, tool := range listed {
		var schema struct{ Properties map[string]any }
		if err := json.Unmarshal(tool.RawInputSchema, &schema); err != nil || schema.Properties == nil {
			t.Errorf("%s: %v: a schema without properties: %s", tool.Name, err, tool.RawInputSchema)
		}
	}
}

func TestArgumentsThatAToolDoesNotTakeAreNamed(t *testing.T) {
	toolList := map[string]tools.Tool{}
	for _, tool := range tools.Catalog() {
		toolList[tool.Name] = tool
	}
	for _, tc := range [][3]string{
		{"send", `{"to":"amber","content":"hi"}`, ""},
		{"send", `{"alias":"amber","content":"hi","from_alias":"birch"}`, ""},
		{"send", `{"to_alias":"amber","to":"amber","text":"hi"}`, ""},
		{"send", `{"to_alias":"amber","to":"birch","content":"hi"}`, "send: to and to_alias have the same meaning, and their values differ: give only one"},
		{"send", `{"to":"amber"}`, "send: it needs content"},
		{"send", `{"body":1,"topic":2}`, "send: it needs content; it takes no body and no topic, but to, content, in_reply_to, kind, tag, answer_by, reason, deferrable"},
		{"send", `{"to_alias":"amber","content":""}`, "send: content is empty"},
		{"send", `{"to_alias":"amber","content":"hi","deferrable":"yes"}`, "send: deferrable: got string, want boolean"},
		{"send", `{"to_alias":"amber","content":"hi","ttl":null}`, "send: ttl: got null, want string"},
		{"send", `{"to_alias":["amber"],"content":{}}`, "send: to_alias: got array, want string; content: got object, want string"},
		{"reply", `{"text":"hi"}`, ""},
		{"reply", `{"text":""}`, "reply: text is empty"},
		{"reply", `{"content":"hi","exclude_aliases":["a",1]}`, "reply: exclude_aliases.1: got integer, want string"},
		{"ask", `{"to":"amber","content":"hi","wait_seconds":601}`, "ask: wait_seconds: got 601, want 600 or less"},
		{"ask", `{"to":"amber","content":"hi","wait_seconds":0.5}`, "ask: wait_seconds: got number, want integer"},
		{"history", `{"limit":5.0}`, ""},
		{"history", `[]`, "history: arguments: got array, want object"},
		{"history", `null`, ""},
		{"look", `{}`, "look: it needs at"},
		{"poll_inbox", `{"session_id":"amber"}`, ""},
		{"sweep", `{"session_id":"amber"}`, "sweep: it takes no session_id"},
	} {
		var arguments any
		if err := json.Unmarshal([]byte(tc[1]), &arguments); err != nil {
			t.Fatal(err)
		}
		got := ""
		if _, err := toolList[tc[0]].Arguments(arguments); err != nil {
			got = err.Error()
		}
		if got != tc[2] {
			t.Errorf("%s of %s: %q, want %q", tc[0], tc[1], got, tc[2])
		}
	}
}
