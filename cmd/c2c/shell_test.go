package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"c2c/cmd/cli"
)

// A client's shell cuts long output, and what is cut must not be read.
func TestInAClientsShellPollGivesWhatTheShellPassesOn(t *testing.T) {
	root := scratch(t)
	poll := func(stdout io.Writer, args ...string) (errs string) {
		t.Helper()
		var stderr bytes.Buffer
		env := map[string]string{"C2C_MCP_BROKER_ROOT": root, "C2C_MCP_SESSION_ID": "amber", "HOME": filepath.Dir(root), "CODEX_THREAD_ID": "t-1"}
		a := &app{strings.NewReader(""), stdout, &stderr, func(name string) string { return env[name] }, filepath.Dir(root), time.Hour}
		if code := a.main(t.Context(), append([]string{"poll-inbox"}, args...)); code != cli.Done {
			t.Fatalf("%q: exit %d, %s", args, code, stderr.String())
		}
		return stderr.String()
	}
	status := func(id, want string) {
		t.Helper()
		if out := mustRun(t, root, "birch", "status", id); !strings.Contains(out, want) {
			t.Errorf("status %q, want %s", out, want)
		}
	}
	mustRun(t, root, "birch", "send", "amber", strings.Repeat("long", 3000), "--id", "long")
	for i := range 20 {
		mustRun(t, root, "birch", "send", "amber", fmt.Sprintf("letter-%02d %s", i, strings.Repeat("y", 1160)), "--id", fmt.Sprintf("m-%02d", i))
	}
	var out bytes.Buffer
	poll(&out)
	text := strings.TrimSpace(out.String())
	last := text[strings.LastIndexByte(text, '\n')+1:]
	if len(text) > 9000 || !strings.Contains(text, "letter-04") || !strings.Contains(last, "more messages wait. ") ||
		!strings.Contains(text, "of 12000 bytes from birch (claimed) is too long") || !strings.Contains(text, "c2c poll-inbox > file") {
		t.Errorf("%d bytes, the last line %q, %.600s", len(text), last, text)
	}
	status("m-04", "read")
	status("m-19", "rung")
	status("long", "rung")

	out.Reset()
	said := poll(&out, "--json")
	var msgs []struct{ Content string }
	if err := json.Unmarshal(out.Bytes(), &msgs); err != nil || len(msgs) < 3 || out.Len() > 9000 || !strings.Contains(said, "more messages wait. ") || !strings.Contains(said, "too long") {
		t.Errorf("%d messages in %d bytes, %v, says %s", len(msgs), out.Len(), err, said)
	}

	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	poll(file)
	data, err := os.ReadFile(file.Name())
	if err != nil || strings.Count(string(data), "long") < 3000 || !strings.Contains(string(data), "letter-19") || strings.Contains(string(data), "letter-04") {
		t.Errorf("the file has %d bytes, %v", len(data), err)
	}
	status("long", "read")
}

func TestAPersonsPipeGetsAll(t *testing.T) {
	root := scratch(t)
	mustRun(t, root, "birch", "send", "amber", strings.Repeat("x", 100_000))
	if out := mustRun(t, root, "amber", "poll-inbox"); strings.Count(out, "x") < 100_000 {
		t.Errorf("%d bytes", len(out))
	}
}

// OpenCode's shell passes on no more than 2,000 lines.
func TestAShellThatCountsLinesPassesOnShortOnesToo(t *testing.T) {
	root := scratch(t)
	env := map[string]string{"C2C_MCP_BROKER_ROOT": root, "C2C_MCP_SESSION_ID": "amber", "HOME": filepath.Dir(root), "C2C_OPENCODE_SESSION_ID": "ses-1"}
	mustRun(t, root, "birch", "send", "amber", strings.Repeat("x\n", 2500), "--id", "long")
	mustRun(t, root, "birch", "send", "amber", strings.Repeat("y\n", 1500), "--id", "short")
	var stdout, stderr bytes.Buffer
	a := &app{strings.NewReader(""), &stdout, &stderr, func(name string) string { return env[name] }, filepath.Dir(root), time.Hour}
	if code := a.main(t.Context(), []string{"poll-inbox"}); code != cli.Done {
		t.Fatalf("exit %d, %s", code, stderr.String())
	}
	if lines := strings.Count(stdout.String(), "\n"); lines > 2000 || strings.Contains(stdout.String(), "x\nx\n") || !strings.Contains(stdout.String(), "y\ny\n") {
		t.Errorf("%d lines: %.300s", lines, stdout.String())
	}
	for id, want := range map[string]string{"long": "rung", "short": "read"} {
		if out := mustRun(t, root, "birch", "status", id); !strings.Contains(out, want) {
			t.Errorf("status %q, want %s", out, want)
		}
	}
}
