// Command demo shows the way of a message. Two sessions with real MCP servers use a scratch root,
// and demo prints the files on disk and the message's status at each step. Run it with the
// directory of the built programs: demo bin
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
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: demo <directory of c2c and c2cd>")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintf(os.Stderr, "demo: %v\n", err)
		os.Exit(1)
	}
}

type demo struct{ bin, home, root string }

func run(bin string) error {
	bin, err := filepath.Abs(bin)
	if err != nil {
		return err
	}
	home, err := os.MkdirTemp("", "c2c-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(home)
	d := demo{bin, home, filepath.Join(home, "broker")}
	return d.story()
}

func (d demo) story() error {
	amber, err := d.start("amber")
	if err != nil {
		return err
	}
	defer amber.stop()
	birch, err := d.start("birch")
	if err != nil {
		return err
	}
	defer birch.stop()

	step("Two sessions register with their MCP servers")
	for _, s := range []*server{amber, birch} {
		if _, err := s.call("me", map[string]any{"alias": s.name}); err != nil {
			return err
		}
	}
	if err := d.show("c2c list", "", "list"); err != nil {
		return err
	}
	first, err := d.send(birch, "Is the build green?")
	if err != nil {
		return err
	}
	step("It is on disk, in amber's inbox")
	if err := d.cat("amber.inbox.json"); err != nil {
		return err
	}
	if err := d.status(birch, first); err != nil {
		return err
	}
	step("amber runs a tool: its hook puts the message in front of the model")
	event := `{"hook_event_name":"PostToolUse","session_id":"demo-amber","tool_name":"Bash"}`
	if err := d.show("c2c hook", event, "hook"); err != nil {
		return err
	}
	if err := d.status(birch, first); err != nil {
		return err
	}
	second, err := d.send(birch, "And the tests?")
	if err != nil {
		return err
	}
	step("amber asks for its mail itself: poll_inbox")
	if _, err := amber.call("poll_inbox", map[string]any{}); err != nil {
		return err
	}
	if err := d.status(birch, second); err != nil {
		return err
	}
	step("amber's next call shows that the answer has arrived, and both messages are in the archive")
	if _, err := amber.call("me", map[string]any{}); err != nil {
		return err
	}
	if err := d.status(birch, second); err != nil {
		return err
	}
	return d.cat(filepath.Join("archive", "amber.jsonl"))
}

func step(text string) { fmt.Printf("\n== %s\n", text) }

func (d demo) env(session string) []string {
	return append(os.Environ(), "HOME="+d.home, "XDG_STATE_HOME=", "C2C_MCP_BROKER_ROOT="+d.root,
		"C2C_MCP_SESSION_ID="+session, "CLAUDE_CODE_SESSION_ID=", "CLAUDE_PID=")
}

// show runs a c2c command as amber. The command's output goes to demo's output.
func (d demo) show(title, input string, args ...string) error {
	fmt.Printf("$ %s\n", title)
	cmd := exec.Command(filepath.Join(d.bin, "c2c"), args...)
	cmd.Env, cmd.Stdin = d.env("amber"), strings.NewReader(input)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}

func (d demo) cat(name string) error {
	data, err := os.ReadFile(filepath.Join(d.root, name))
	if err != nil {
		return err
	}
	fmt.Printf("$ cat %s\n%s", name, data)
	return nil
}

func (d demo) send(from *server, text string) (id string, err error) {
	step(from.name + " sends: " + text)
	out, err := from.call("send", map[string]any{"to": "amber", "content": text})
	if err != nil {
		return "", err
	}
	var receipt struct {
		ID string `json:"message_id"`
	}
	if err := json.Unmarshal([]byte(out), &receipt); err != nil || receipt.ID == "" {
		return "", fmt.Errorf("no message id in %q", out)
	}
	return receipt.ID, nil
}

func (d demo) status(s *server, id string) error {
	_, err := s.call("look", map[string]any{"at": "status", "of": id})
	return err
}

// server is one session's `c2cd mcp`.
type server struct {
	name string
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	last int
}

func (d demo) start(name string) (*server, error) {
	argv := []string{filepath.Join(d.bin, "c2cd"), "mcp"}
	if name != "amber" { // demo itself is amber's client and runs amber's hook; each other session gets a client of its own
		argv = append([]string{"sh", "-c", `"$@"; :`, "client"}, argv...)
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env, cmd.Stderr = d.env(name), os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &server{name: name, cmd: cmd, in: in, out: bufio.NewReader(out)}
	_, err = s.request("initialize", map[string]any{"protocolVersion": "2025-11-25",
		"capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "claude-code", "version": "1"}})
	if err == nil {
		_, err = fmt.Fprintln(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	}
	return s, err
}

func (s *server) stop() {
	s.in.Close()
	s.cmd.Wait() // the server ends when its input ends
}

func (s *server) request(method string, params any) (json.RawMessage, error) {
	s.last++
	line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": s.last, "method": method, "params": params})
	if err != nil {
		return nil, err
	}
	if _, err := fmt.Fprintf(s.in, "%s\n", line); err != nil {
		return nil, err
	}
	answer, err := s.out.ReadBytes('\n')
	if err != nil {
		return nil, fmt.Errorf("%s of %s: %w", method, s.name, err)
	}
	var msg struct {
		Result json.RawMessage
		Error  *struct{ Message string }
	}
	if err := json.Unmarshal(answer, &msg); err != nil {
		return nil, err
	}
	if msg.Error != nil {
		return nil, fmt.Errorf("%s of %s: %s", method, s.name, msg.Error.Message)
	}
	return msg.Result, nil
}

// call runs a tool and prints its answer.
func (s *server) call(tool string, args map[string]any) (string, error) {
	raw, err := s.request("tools/call", map[string]any{"name": tool, "arguments": args})
	if err != nil {
		return "", err
	}
	var result struct {
		IsError bool
		Content []struct{ Text string }
	}
	if err := json.Unmarshal(raw, &result); err != nil {
		return "", err
	}
	if len(result.Content) == 0 || result.IsError {
		return "", fmt.Errorf("%s of %s: %s", tool, s.name, raw)
	}
	fmt.Printf("[%s] %s: %s\n", s.name, tool, result.Content[0].Text)
	return result.Content[0].Text, nil
}
