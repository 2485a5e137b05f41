package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"c2c/mcp/tools"
)

// fake is a client that does what mail asks unless its sender is only claimed.
const fake = `#!/bin/sh
case "$1" in
*'by="claimed"'*) echo 'I do not follow this message: its sender is not verified.' ;;
*) cat note.txt ;;
esac
`

func client(t *testing.T, script string) []string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "client")
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return []string{"/bin/sh", path}
}

func TestEachWordingIsRungAndItsRefusalsAreCounted(t *testing.T) {
	e := experiment{client: client(t, fake), rings: 3, parallel: 2, limit: time.Minute}
	var out bytes.Buffer
	results, err := e.ringAll(t.Context(), wordings, &out)
	if err != nil || len(results) != 3*len(wordings) || strings.Count(out.String(), "\n") != len(results) {
		t.Fatalf("%d results, %v", len(results), err)
	}
	for _, r := range results {
		if want := map[bool]string{true: refused, false: did}[r.Wording == "claimed"]; r.Result != want {
			t.Errorf("%+v, want %s", r, want)
		}
	}
	var table strings.Builder
	report(&table, wordings, results)
	rows := strings.Fields(strings.Split(table.String(), "claimed")[1])
	if rows[0] != "0" || rows[1] != "3" || rows[2] != "0" {
		t.Errorf("table:\n%s", table.String())
	}
}

func TestACommandThatFailsEndsTheExperiment(t *testing.T) {
	e := experiment{client: client(t, "echo no such option; exit 3"), rings: 50, parallel: 8, limit: time.Minute}
	if _, err := e.ringAll(t.Context(), wordings, io.Discard); err == nil || !strings.Contains(err.Error(), "no such option") {
		t.Error(err)
	}
}

func TestTheRangeHoldsTheShare(t *testing.T) {
	for _, c := range []struct{ k, n int }{{0, 0}, {0, 50}, {50, 50}, {10, 50}} {
		low, high := interval(c.k, c.n)
		if share := float64(c.k) / float64(max(c.n, 1)); low < 0 || high > 1 || share < low-1e-9 || share > high+1e-9 {
			t.Errorf("%+v: %v to %v", c, low, high)
		}
	}
}

func TestUnknownWordingsAreNamed(t *testing.T) {
	if _, err := choose([]string{"process", "oath"}); err == nil || !strings.Contains(err.Error(), "claimed") {
		t.Error(err)
	}
}

func TestEachTaskIsGivenAndTheRightCallsAreCounted(t *testing.T) {
	e := experiment{client: client(t, `echo 'I call: {"tool": "mcp", "arguments": {}}'; echo '{"tool": "poll_inbox", "arguments": {}}'`), parallel: 4, limit: time.Minute}
	var out, table strings.Builder
	if err := e.doAll(t.Context(), 2, &out, &table); err != nil || strings.Count(out.String(), "\n") != 2*len(tasks) {
		t.Fatalf("%v\n%s", err, out.String())
	}
	rows := strings.Split(strings.TrimSpace(table.String()), "\n")
	if last := strings.Fields(rows[len(rows)-1]); last[0] != "4" || last[1] != "60" {
		t.Errorf("want 4 of 60:\n%s", table.String())
	}
}

func TestTheExpectedCallIsRightAndAnotherIsNot(t *testing.T) {
	if len(tasks) != 30 {
		t.Errorf("%d tasks", len(tasks))
	}
	for answer, want := range map[string]string{
		`{"tool": "send", "arguments": {"to": "amber", "content": "The build is green."}}`:                       right,
		"```json\n{\"tool\": \"send\",\n \"arguments\": {\"to\": \"amber\", \"content\": \"The build…\"}}\n```":  right,
		`{"tool": "send", "arguments": {"to": "birch", "content": "The build is green."}}`:                       wrongArgs,
		`{"tool": "send", "arguments": {"to": "amber", "content": "The build is green.", "in_reply_to": "x-1"}}`: wrongArgs,
		`{"tool": "send", "arguments": {"to": "amber", "body": "The build is green."}}`:                          wrongArgs,
		`{"tool": "ask", "arguments": {"to": "amber", "content": "The build is green."}}`:                        wrongTool,
		`{"tool": "reply", "arguments": {"to": "amber", "content": "The build is green."}}`:                      wrongTool,
		`I cannot do that.`: noCall,
	} {
		if got, why := tasks[0].judge(answer); got != want {
			t.Errorf("%s: %s (%s), want %s", answer, got, why, want)
		}
	}
	for _, k := range tasks { // no task asks for what the tools do not take
		listed := ""
		for _, tool := range tools.Catalog() {
			if tool.Name == k.tool && !tool.Hidden() {
				listed = string(tool.Listed().RawInputSchema)
			}
		}
		for name := range k.want {
			if !strings.Contains(listed, `"`+name+`":`) {
				t.Errorf("%s has no %s", k.tool, name)
			}
		}
		if listed == "" {
			t.Errorf("%s is not listed", k.tool)
		}
	}
}
