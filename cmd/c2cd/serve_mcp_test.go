package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// mcpClient is an MCP session of this process.
type mcpClient struct {
	*host
	id       string
	patience time.Duration // for what comes on its stream; 0: bellLimit
}

// ask posts a message, and gives the answer's headers and body.
func (c *mcpClient) ask(body string) (*http.Response, string) {
	c.t.Helper()
	resp, data, err := c.tryAsk(body)
	if err != nil {
		c.t.Fatal(err)
	}
	return resp, data
}

func (c *mcpClient) tryAsk(body string) (*http.Response, string, error) {
	resp, err := c.send("POST", strings.NewReader(body))
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return resp, string(data), err
}

// send sends a request of the session.
func (c *mcpClient) send(method string, body io.Reader) (*http.Response, error) {
	req, err := http.NewRequest(method, "http://127.0.0.1:"+c.port+"/mcp", body)
	if err != nil {
		return nil, err
	}
	for name, value := range map[string]string{"Authorization": "Bearer " + c.token(), "Content-Type": "application/json",
		"X-C2C-Project": c.home, "Mcp-Session-Id": c.id} {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	return (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
}

func (h *host) dialMCP(name string) *mcpClient {
	h.t.Helper()
	c := &mcpClient{host: h}
	resp, body := c.ask(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"` + name + `","version":"0"}}}`)
	if c.id = resp.Header.Get("Mcp-Session-Id"); c.id == "" {
		h.t.Fatalf("initialize: %s, %s", resp.Status, body)
	}
	return c
}

// call gives the first text of a tool's answer.
func (c *mcpClient) call(tool, args string) string {
	c.t.Helper()
	text, err := c.tryCall(tool, args)
	if err != nil {
		c.t.Fatal(err)
	}
	return text
}

// refusedError is what the daemon has answered instead of what was asked for.
type refusedError struct{ said string }

func (e *refusedError) Error() string { return e.said }

func (c *mcpClient) tryCall(tool, args string) (string, error) {
	resp, body, err := c.tryAsk(fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool, args))
	if err != nil {
		return "", err
	}
	var answer struct {
		Result struct {
			IsError bool
			Content []struct{ Text string }
		}
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil || len(answer.Result.Content) == 0 || answer.Result.IsError {
		return "", &refusedError{fmt.Sprintf("%s: %s, %s", tool, resp.Status, body)}
	}
	return answer.Result.Content[0].Text, nil
}

// A client keeps its mailbox over a stop, a start and a kill of the daemon, and has it together
// with the command line.
func TestToolsOverHTTP(t *testing.T) {
	h := newHost(t)
	h.run("serve", "start", "--port", h.port)
	c := h.dialMCP("somebody")
	c.call("register", `{"alias":"coral"}`)
	if resp, body := (&mcpClient{host: h, id: "x"}).ask(`{"jsonrpc":"2.0","id":1,"method":"ping"}`); resp.StatusCode != http.StatusNotFound {
		t.Errorf("a session that is none: %s, %s", resp.Status, body)
	}
	// Its name is needed: what this process starts is below the process of the client.
	h.run("register", "--session-id", "dana", "dana")
	for i, ends := range []func(){
		func() {},
		func() { h.run("serve", "restart") },
		func() { h.kill(h.status().PID); h.run("serve", "start") },
	} {
		body := fmt.Sprintf("letter %d", i)
		h.run("send", "--session-id", "dana", "coral", body)
		ends()
		if got := c.call("poll_inbox", `{}`); strings.Count(got, body) != 1 {
			t.Errorf("polled %s", got)
		}
		if got := c.call("poll_inbox", `{}`); got != "[]" {
			t.Errorf("handed over again: %s", got)
		}
	}
	if got := c.call("whoami", `{}`); !strings.Contains(got, `"coral"`) {
		t.Errorf("whoami %s", got)
	}
	if out := h.run("list"); strings.Count(out, "coral") != 1 {
		t.Errorf("list: %s", out)
	}
}

// A client does not notice that somebody has removed the root, and calls on with its MCP session.
func TestToolsOverHTTPFollowARootThatIsMadeAnew(t *testing.T) {
	h := newHost(t)
	h.run("serve", "start", "--port", h.port)
	c := h.dialMCP("somebody")
	c.call("register", `{"alias":"coral"}`)
	for i, between := range []func(){func() {}, func() { h.run("serve", "restart") }} {
		// It is moved, since somebody may make a file there between the steps of removing.
		if err := os.Rename(h.root(), fmt.Sprint(h.root(), ".", i)); err != nil {
			t.Fatal(err)
		}
		between()
		c.call("register", `{"alias":"coral"}`)
		h.run("register", "--session-id", "dana", "dana")
		h.run("send", "--session-id", "dana", "coral", "hello again")
		if got := c.call("poll_inbox", `{}`); !strings.Contains(got, "hello again") {
			t.Errorf("polled %s", got)
		}
	}
}
