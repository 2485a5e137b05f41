package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"c2c/e2e/need"
)

// traced is a command of c2c under strace. trace gives what it and its children have opened, and
// whom they have called.
func (h *host) traced(args ...string) (cmd *exec.Cmd, trace func() string) {
	h.t.Helper()
	strace, err := exec.LookPath("strace")
	if err != nil {
		h.t.Fatal(err)
	}
	out := filepath.Join(h.t.TempDir(), "trace")
	cmd = h.command(args...)
	cmd.Args = append([]string{"strace", "-f", "-qq", "-s", "300", "-e", "trace=?open,openat,?stat,?newfstatat,readlinkat,connect,socket", "-o", out, "--",
		cmd.Path}, cmd.Args[1:]...)
	cmd.Path = strace
	return cmd, func() string {
		h.t.Helper()
		text, err := os.ReadFile(out)
		if err != nil || len(text) == 0 {
			h.t.Fatalf("%q: no trace, %v", args, err)
		}
		return string(text)
	}
}

// notAsked says that a trace has nothing of the daemon.
func (h *host) notAsked(what, trace string) {
	h.t.Helper()
	for line := range strings.Lines(trace) {
		if strings.Contains(line, "AF_INET") || strings.Contains(line, "http-mcp") || strings.Contains(line, `"http"`) || strings.Contains(line, "/http/") {
			h.t.Errorf("c2c %s: %s", what, line)
		}
	}
}

// The daemon is there and answers nobody. Nothing looks whether it does, and nothing waits for it.
func TestNothingAsksTheDaemon(t *testing.T) {
	need.Tools(t, "strace")
	h := newHost(t)
	h.run("serve", "start", "--port", h.port)
	h.run("register", "amber", "--session-id", "amber")
	h.run("register", "birch", "--session-id", "birch")
	pid := h.status().PID
	h.stop(pid)
	t.Cleanup(func() { syscall.Kill(pid, syscall.SIGCONT) }) // before it is told to stop
	const begin = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
`
	call := func(id, tool, args string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + args + "}}\n"
	}
	for _, c := range []struct{ input, args string }{
		{"", "send amber hi --from birch"},
		{"", "send amber what? --kind question --from birch"},
		{"", "poll-inbox --session-id amber"},
		{"", "reply --from amber this"},
		{"", "list"},
		{`{"hook_event_name":"SessionStart","session_id":"uuid-1"}`, "hook"},
		{`{"hook_event_name":"UserPromptSubmit","session_id":"uuid-1","prompt":"x"}`, "hook"},
		{begin + call("2", "register", `{"alias":"cedar"}`) + call("3", "send", `{"to_alias":"amber","content":"x"}`) + call("4", "poll_inbox", `{}`) + call("5", "whoami", `{}`), "mcp"},
	} {
		cmd, trace := h.traced(strings.Fields(c.args)...)
		cmd.Stdin = strings.NewReader(c.input)
		if said, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", c.args, err, said)
		}
		h.notAsked(c.args, trace())
	}
}
