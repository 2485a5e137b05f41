package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"c2c/e2e/namespace"
	"c2c/e2e/need"
)

// fillDisk leaves nothing free on the disk of a file.
func fillDisk(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	for size := 4096; size > 0; size /= 2 {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, size))
		}
	}
	f.Close()
}

func TestServeOnAFullDiskRefusesAndKeepsTheToken(t *testing.T) {
	if !namespace.Enter(t) {
		return
	}
	h := newHost(t)
	h.home = namespace.Disk(t, "256k")
	filler := filepath.Join(h.home, "filler")
	fillDisk(t, filler)
	if out, err := h.try("serve", "start", "--port", h.port); err == nil {
		t.Errorf("it runs without a token: %s", out)
	}
	if st := h.status(); st.Running || st.Reaped {
		t.Errorf("%+v", st)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	h.run("serve", "start", "--port", h.port)
	defer h.run("serve", "stop") // before the disk goes
	token := h.token()
	fillDisk(t, filler)
	if out, err := h.try("serve", "rotate-token"); err == nil || !strings.Contains(out, "no space left") {
		t.Errorf("rotate-token: %v, %s", err, out)
	}
	if code, _ := h.get("/metrics", token); code != 200 || h.token() != token {
		t.Errorf("the token that is kept: %d", code)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
}

// The daemon is there, and nothing looks whether it is.
func TestNothingAsksTheDaemon(t *testing.T) {
	need.Tools(t, "strace")
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Fatal(err)
	}
	h := newHost(t)
	h.run("serve", "start", "--port", h.port)
	h.run("register", "amber", "--session-id", "amber")
	h.run("register", "birch", "--session-id", "birch")
	const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"list","arguments":{}}}
`
	for _, c := range []struct{ input, args string }{
		{"", "send amber hi --from birch"},
		{"", "poll-inbox --session-id amber"},
		{"", "list"},
		{`{"hook_event_name":"SessionStart","session_id":"uuid-1"}`, "hook"},
		{initialize, "mcp"},
	} {
		out := filepath.Join(t.TempDir(), "trace")
		cmd := h.command(strings.Fields(c.args)...)
		cmd.Args = append([]string{"strace", "-f", "-qq", "-s", "300", "-e", "trace=?open,openat,?stat,?newfstatat,readlinkat,connect,socket", "-o", out, "--"}, append([]string{cmd.Path}, cmd.Args[1:]...)...)
		cmd.Path, cmd.Stdin = strace, strings.NewReader(c.input)
		if said, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", c.args, err, said)
		}
		trace, err := os.ReadFile(out)
		if err != nil || len(trace) == 0 {
			t.Fatalf("%s: no trace, %v", c.args, err)
		}
		for line := range strings.Lines(string(trace)) {
			if strings.Contains(line, "AF_INET") || strings.Contains(line, "http-mcp") || strings.Contains(line, `"http"`) || strings.Contains(line, "/http/") {
				t.Errorf("c2c %s: %s", c.args, line)
			}
		}
	}
}
