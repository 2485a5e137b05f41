package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"testing"

	"c2c/e2e/lab"
)

// gem is a client that nobody knows. It runs the MCP server that its person has pasted.
type gem struct {
	t   *testing.T
	in  io.Writer
	out *bufio.Reader
	id  int
}

// startGem starts a window of it, a process of its own.
func startGem(t *testing.T, l *lab.Lab) *gem {
	t.Helper()
	var pasted struct {
		Servers map[string]struct {
			Command string
			Args    []string
			Env     map[string]string
		} `json:"mcpServers"`
	}
	if err := json.Unmarshal([]byte(l.Run(c2c(), "install", "--print", "mcp")), &pasted); err != nil {
		t.Fatal(err)
	}
	server := pasted.Servers["c2c"]
	cmd := exec.Command("sh", append([]string{"-c", `"$@"; :`, "gem", server.Command}, server.Args...)...)
	cmd.Dir, cmd.Env = l.Project, l.Env()
	for name, value := range server.Env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("gem: %v", err)
		}
	})
	g := &gem{t: t, in: in, out: bufio.NewReader(out)}
	g.ask("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"Gem Desktop","version":"3"}}`)
	return g
}

// ask sends a request and gives the result.
func (g *gem) ask(method, params string) (result json.RawMessage) {
	g.t.Helper()
	g.id++
	fmt.Fprintf(g.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", g.id, method, params)
	line, err := g.out.ReadBytes('\n')
	var answer struct {
		ID     int
		Result json.RawMessage
	}
	if err == nil {
		err = json.Unmarshal(line, &answer)
	}
	if err != nil || answer.ID != g.id || answer.Result == nil {
		g.t.Fatalf("%s: %v, %s", method, err, line)
	}
	return answer.Result
}

// call gives the texts of a tool's result.
func (g *gem) call(tool, args string) (texts []string) {
	g.t.Helper()
	var result struct{ Content []struct{ Text string } }
	if err := json.Unmarshal(g.ask("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, args)), &result); err != nil {
		g.t.Fatal(err)
	}
	for _, part := range result.Content {
		texts = append(texts, part.Text)
	}
	return texts
}

func TestAClientThatNobodyKnowsHearsAtItsNextCall(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.Run(c2c(), "register", "birch", "--session-id", "birch")
	window, other := startGem(t, l), startGem(t, l)
	window.call("register", `{"alias":"amber"}`)
	other.call("register", `{"alias":"coral"}`)
	l.Run("sh", "-c", sendWord("meanwhile"))

	if texts := other.call("list", `{}`); len(texts) != 1 {
		t.Errorf("the other window has %q", texts)
	}
	texts := window.call("list", `{}`)
	var rows []struct{ Alias string }
	if err := json.Unmarshal([]byte(texts[0]), &rows); err != nil || len(rows) != 3 {
		t.Errorf("a program that reads the list has %+v, %v", rows, err)
	}
	if len(texts) != 2 || strings.Count(texts[1], "word-meanwhile") != 1 {
		t.Errorf("behind the list stands %q", texts[1:])
	}
	// Clients send it late: the result was there.
	fmt.Fprintf(window.in, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`+"\n", window.id)
	for _, tool := range []string{"list", "poll_inbox", "peek_inbox"} {
		if again := strings.Join(window.call(tool, `{}`), "\n"); strings.Contains(again, "word-meanwhile") {
			t.Errorf("%s shows it again: %s", tool, again)
		}
	}
	wantRead(t, l, "id-meanwhile", "read by tool_result")
}
