// This part tests for `c2c doctor` whether mail works. It makes a scratch root, and sends and reads
// messages there with the programs and the protocol that clients use. Then it removes the root.

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"c2c/install"
	"c2c/internal/format"
)

// runTime bounds the whole self-test.
const runTime = 20 * time.Second

// A scratch is a home directory with a scratch root in it.
type scratch struct {
	o    install.Options // selfTest uses only Binary, and PATH from Getenv
	home string
}

// selfTest sends messages and reads each of them in a different way: one with each hook that can bring
// mail, and one with poll_inbox.
func selfTest(ctx context.Context, o install.Options) format.Finding {
	ctx, cancel := context.WithTimeout(ctx, runTime)
	defer cancel()
	const part = "round trip"
	home, err := os.MkdirTemp("", "c2c-doctor-")
	if err != nil {
		return format.Failed(part, "", fmt.Errorf("make a scratch root: %w", err))
	}
	defer os.RemoveAll(home)
	t := scratch{o, home}
	const event = `{"hook_event_name":"PostToolUse","session_id":"doctor"}`
	for _, client := range install.HooksByVariable() {
		if id := "by-hook-of-" + client; err == nil {
			err = t.send(ctx, id, func() (string, error) { return t.run(ctx, id, event, o.Binary, "hook", "--client", client) })
		}
	}
	if err == nil {
		err = t.send(ctx, "by-poll", func() (string, error) { return t.tool(ctx, "by-poll", "poll_inbox", `{}`) })
	}
	if err != nil {
		return format.Failed(part, "", err)
	}
	return format.Finding{Status: format.OK, Part: part, Detail: "c2c in a scratch root: messages were sent, handed over by the hook and by poll_inbox, and read"}
}

// send sends a message with this id to a session of the same name, calls the function take to get
// the message, and checks that the message has the status read. Each message has its own session,
// because a client's program must not use the session of another client.
func (t scratch) send(ctx context.Context, id string, take func() (string, error)) error {
	if _, err := t.tool(ctx, id, "register", fmt.Sprintf(`{"alias":%q}`, id)); err != nil {
		return err
	}
	args := fmt.Sprintf(`{"to_alias":%q,"content":"round trip %s","message_id":%q}`, id, id, id)
	if _, err := t.tool(ctx, "here", "send", args); err != nil {
		return err
	}
	got, err := take()
	if err != nil {
		return err
	}
	if !strings.Contains(got, "round trip "+id) {
		return fmt.Errorf("round trip %s: the message did not arrive, but %q", id, got)
	}
	if _, err := take(); err != nil { // the second call of take counts as an answer of the model, so the message counts as read
		return err
	}
	status, err := t.tool(ctx, "here", "message_status", fmt.Sprintf(`{"message_id":%q}`, id))
	if err == nil && !strings.Contains(status, `"state":"read"`) {
		err = fmt.Errorf("round trip %s: its status is %s, not read", id, status)
	}
	return err
}

func (t scratch) run(ctx context.Context, session, input string, argv ...string) (string, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = t.home
	// Take only PATH from the caller's environment: neither its session nor its keys.
	cmd.Env = []string{"HOME=" + t.home, "PATH=" + t.o.Getenv("PATH"),
		"C2C_MCP_BROKER_ROOT=" + filepath.Join(t.home, "broker"), "C2C_MCP_SESSION_ID=" + session}
	cmd.Stdin = strings.NewReader(input)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("run %s: %w: %s", strings.Join(argv, " "), err, errs.Bytes())
	}
	return string(out), nil
}

// tool starts an MCP server and calls one tool. The server answers all requests before it ends.
func (t scratch) tool(ctx context.Context, session, name, args string) (string, error) {
	input := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"doctor","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"` + name + `","arguments":` + args + "}}\n"
	out, err := t.run(ctx, session, input, t.o.Binary, "mcp")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(out) {
		var msg struct {
			ID     int
			Result struct {
				IsError bool
				Content []struct{ Text string }
			}
		}
		if err := json.Unmarshal([]byte(line), &msg); err != nil {
			return "", fmt.Errorf("MCP server: not JSON: %q", line)
		}
		if msg.ID == 2 && len(msg.Result.Content) > 0 && !msg.Result.IsError {
			return msg.Result.Content[0].Text, nil
		}
	}
	return "", fmt.Errorf("MCP server: no answer of %s in %q", name, out)
}
