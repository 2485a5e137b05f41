package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// invented is a client process that nobody knows, with two MCP servers; when both have ended it
// starts a third.
type invented struct {
	t       *testing.T
	name    string // as it says at initialize
	servers []*server
	ends    []io.Closer
}

// startClient starts a shell as the client. Its environment is that of a Claude Code session's
// shell.
func startClient(t *testing.T, bin, home, name string) *invented {
	t.Helper()
	c := &invented{t: t, name: name}
	cmd := exec.Command("sh", "-c", `c2c mcp <&3 >&4 & c2c mcp <&5 >&6 & wait; c2c mcp <&7 >&8; :`)
	cmd.Dir, cmd.Stderr = home, os.Stderr
	cmd.Env = []string{"HOME=" + home, "PATH=" + bin + ":" + os.Getenv("PATH"), "C2C_MCP_BROKER_ROOT=" + filepath.Join(home, "root"),
		"CLAUDE_CODE_SESSION_ID=uuid-outer"}
	for range 3 {
		theirIn, in, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		out, theirOut, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd.ExtraFiles = append(cmd.ExtraFiles, theirIn, theirOut)
		c.ends = append(c.ends, in)
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 1<<20)
		c.servers = append(c.servers, &server{t: t, in: in, out: lines})
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for _, f := range cmd.ExtraFiles {
		f.Close()
	}
	t.Cleanup(func() {
		for n := range c.ends {
			c.end(n)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("client %s: %v", name, err)
		}
	})
	return c
}

// server gives one of its servers, initialized.
func (c *invented) server(n int) *server {
	c.t.Helper()
	s := c.servers[n]
	fmt.Fprintf(s.in, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},`+
		`"clientInfo":{"name":%q,"version":"1"}}}`+"\n", c.name)
	if !s.out.Scan() || !strings.Contains(s.out.Text(), `"result"`) {
		c.t.Fatalf("initialize: %s, %v", s.out.Text(), s.out.Err())
	}
	return s
}

func (c *invented) end(n int) { c.ends[n].Close() }

func (s *server) wantAlias(alias string) {
	s.t.Helper()
	if got := s.want("whoami", `{}`); !strings.Contains(got, `"alias":"`+alias+`"`) {
		s.t.Errorf("%s is %s", alias, got)
	}
}

func TestAClientThatNobodyKnowsHasOneMailbox(t *testing.T) {
	bin, home := programs(t), t.TempDir()
	names := []string{"amber", "birch", "coral"}
	var clients []*invented
	var first []*server
	for i, info := range []string{"gem", "gem", "Opensesame (beta) 2"} { // two processes of one client are two
		c := startClient(t, bin, home, info)
		s := c.server(0)
		if got := s.want("register", `{"alias":"`+names[i]+`"}`); !strings.Contains(got, `"alias":"`+names[i]+`"`) {
			t.Fatal(got)
		}
		clients, first = append(clients, c), append(first, s)
	}
	for i, s := range first {
		s.wantAlias(names[i])
	}
	var last []*server
	for i, c := range clients {
		first[(i+2)%3].want("send", `{"to_alias":"`+names[i]+`","content":"from `+names[(i+2)%3]+`"}`)
		second := c.server(1)
		if got := second.want("poll_inbox", `{}`); !strings.Contains(got, "from "+names[(i+2)%3]) {
			t.Errorf("%s polled %s", names[i], got)
		}
		second.wantAlias(names[i])
	}
	for i, c := range clients {
		c.end(0)
		c.end(1)
		third := c.server(2) // of the same client process
		third.wantAlias(names[i])
		last = append(last, third)
	}
	for n := range 1000 {
		tool := []string{"whoami", "poll_inbox", "peek_inbox", "history"}[n%4]
		last[n%3].want(tool, `{}`)
	}
	var rows []struct {
		Alias string
		PID   int
	}
	data, err := os.ReadFile(filepath.Join(home, "root", "registry.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &rows); err != nil || len(rows) != 3 {
		t.Errorf("%d sessions, %v: %s", len(rows), err, data)
	}
}

// A launcher may end and leave the server to its client.
func TestASessionLivesAsLongAsItsServer(t *testing.T) {
	bin, home := programs(t), t.TempDir()
	theirIn, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, theirOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	launcher := exec.Command("sh", "-c", `c2c mcp <&3 >&4 & read -r end`)
	launcher.Dir, launcher.Stderr, launcher.ExtraFiles = home, os.Stderr, []*os.File{theirIn, theirOut}
	launcher.Env = []string{"HOME=" + home, "PATH=" + bin + ":" + os.Getenv("PATH"), "C2C_MCP_BROKER_ROOT=" + filepath.Join(home, "root")}
	end, err := launcher.StdinPipe()
	if err == nil {
		err = launcher.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	theirIn.Close()
	theirOut.Close()
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	c := &invented{t: t, name: "gem", servers: []*server{{t: t, in: in, out: lines}}}
	s := c.server(0)
	s.want("register", `{"alias":"amber"}`)
	end.Close()
	launcher.Wait()

	thief := exec.Command(filepath.Join(bin, "c2c"), "register", "amber")
	thief.Dir, thief.Env = home, append(launcher.Env, "C2C_MCP_SESSION_ID=thief")
	if out, err := thief.CombinedOutput(); err == nil || !strings.Contains(string(out), "belongs to another session") {
		t.Errorf("%v: %s", err, out)
	}
	s.wantAlias("amber")
	in.Close()
	for lines.Scan() { // until the server has ended
	}
	thief = exec.Command(thief.Path, "register", "amber")
	thief.Dir, thief.Env = home, append(launcher.Env, "C2C_MCP_SESSION_ID=thief")
	if out, err := thief.CombinedOutput(); err != nil {
		t.Errorf("after its end: %v: %s", err, out)
	}
}
