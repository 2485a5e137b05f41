package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"c2c/sessions"
)

// bellLimit is for a loaded machine: each wait in these tests is for something that happens.
const bellLimit = 2 * time.Minute

// listen opens the stream of the session, answers the pings there, and passes on all else until
// leave is called or the stream ends.
func (c *mcpClient) listen() (messages <-chan string, leave context.CancelFunc) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), cmp.Or(c.patience, bellLimit))
	c.t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, "GET", "http://127.0.0.1:"+c.port+"/mcp", nil)
	if err != nil {
		c.t.Fatal(err)
	}
	for name, value := range map[string]string{"Authorization": "Bearer " + c.token(), "Accept": "text/event-stream", "Mcp-Session-Id": c.id} {
		req.Header.Set(name, value)
	}
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		c.t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		c.t.Fatalf("stream: %s", resp.Status)
	}
	all := make(chan string, 100)
	go func() {
		defer close(all)
		defer resp.Body.Close()
		lines := bufio.NewScanner(resp.Body)
		for lines.Scan() {
			data, ok := strings.CutPrefix(lines.Text(), "data: ")
			var ping struct{ ID, Method string }
			switch {
			case !ok || data == "":
			case json.Unmarshal([]byte(data), &ping) == nil && ping.Method == "ping":
				c.ask(`{"jsonrpc":"2.0","id":"` + ping.ID + `","result":{}}`)
			default:
				all <- data
			}
		}
	}()
	return all, cancel
}

// bell is the trace id of the next bell on a stream.
func (c *mcpClient) bell(messages <-chan string) string {
	c.t.Helper()
	data := <-messages
	trace := traceOf(data)
	if trace == "" {
		c.t.Fatalf("on the stream comes %q", data)
	}
	return trace
}

// traceOf is the trace id of a message on a stream, "" if that is no bell.
func traceOf(data string) string {
	var m struct {
		Method string
		Params struct {
			URI  string
			Meta struct {
				Trace string `json:"trace_id"`
			} `json:"_meta"`
		}
	}
	if err := json.Unmarshal([]byte(data), &m); err != nil || m.Method != "notifications/resources/updated" || m.Params.URI != "c2c://inbox" {
		return ""
	}
	return m.Params.Meta.Trace
}

func (h *host) surface(alias string) string {
	h.t.Helper()
	var all []sessions.Listed
	if err := json.Unmarshal([]byte(h.run("list", "--json")), &all); err != nil {
		h.t.Fatal(err)
	}
	for _, s := range all {
		if s.Alias == alias {
			return s.Surface
		}
	}
	h.t.Fatalf("%s is not listed: %+v", alias, all)
	return ""
}

// broker is the broker's log.
func (h *host) broker() string {
	h.t.Helper()
	data, err := os.ReadFile(filepath.Join(h.root(), "broker.log"))
	if err != nil {
		h.t.Fatal(err)
	}
	return string(data)
}

// watches counts the daemon's watches of the system: a user has few.
func (h *host) watches() (n int) {
	h.t.Helper()
	dir := fmt.Sprintf("/proc/%d/fd", h.status().PID)
	fds, err := os.ReadDir(dir)
	if err != nil {
		return 0 // it cannot be seen here
	}
	for _, fd := range fds {
		if to, _ := os.Readlink(filepath.Join(dir, fd.Name())); strings.Contains(to, "inotify") {
			n++
		}
	}
	return n
}

// wakes opens the stream of the session. When the bell for a first message has come, mail wakes it.
func (h *host) wakes(c *mcpClient, alias string) (messages <-chan string, leave context.CancelFunc) {
	h.t.Helper()
	messages, leave = c.listen()
	h.run("send", "--session-id", "dana", alias, "first")
	c.bell(messages)
	if got := c.call("poll_inbox", `{}`); !strings.Contains(got, "first") {
		h.t.Errorf("polled %s", got)
	}
	if got := h.surface(alias); got != sessions.SurfaceFull {
		h.t.Errorf("with a stream its surface is %q", got)
	}
	return messages, leave
}

// until asks again and again, where nothing tells: a lock that is given up, a count that has
// changed.
func (h *host) until(what string, ready func() bool) {
	h.t.Helper()
	if !comes(bellLimit, ready) {
		h.t.Fatal("never comes: " + what)
	}
}

func TestMailRingsAClientThatHasAStreamOpen(t *testing.T) {
	h := newHost(t)
	h.run("serve", "start", "--port", h.port)
	h.run("register", "--session-id", "dana", "dana")
	before := h.watches()
	c := h.dialMCP("somebody")
	c.call("register", `{"alias":"coral"}`)
	if got := h.surface("coral"); got != sessions.SurfaceDegraded {
		t.Errorf("without a stream its surface is %q", got)
	}
	messages, leave := h.wakes(c, "coral")
	h.run("send", "--session-id", "dana", "coral", "precious words")
	trace := c.bell(messages)
	if got := c.call("poll_inbox", `{}`); !strings.Contains(got, "precious words") {
		t.Errorf("polled %s", got)
	}
	h.run("send", "--session-id", "dana", "coral", "more words")
	if again := c.bell(messages); again == trace {
		t.Errorf("both bells are %s", again)
	}
	logged := h.broker()
	for _, want := range []string{`"event":"surface_doorbell_sent","result":"rang"`, `"trace_id":"` + trace + `"`, `"method":"sse"`} {
		if !strings.Contains(logged, want) || strings.Contains(logged, "words") {
			t.Errorf("broker.log has no %s, or a body: %s", want, logged)
		}
	}
	if out := h.run("doctor", "--verbose"); !strings.Contains(out, "mail of coral: it wakes the session: its client has a stream of events open, and answers there; tools over http\n") {
		t.Errorf("doctor: %s", out)
	}
	leave()
	h.until("degraded", func() bool { return h.surface("coral") == sessions.SurfaceDegraded })

	// What waits is rung for on the next stream, also after a kill of the daemon.
	for _, between := range []func(){func() {}, func() { h.kill(h.status().PID); h.run("serve", "start") }} {
		between()
		messages, leave = c.listen()
		c.bell(messages)
		leave()
	}
	resp, err := c.send("DELETE", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	h.until("as few watches of the system as before", func() bool { return h.watches() == before })
}

// A client without a stream is not rung, and hears all the same that its answer is late, also
// behind a kill of the daemon. No command is run meanwhile, since it would look itself.
func TestALateAnswerIsToldWithoutAStream(t *testing.T) {
	h := newHost(t)
	h.run("serve", "start", "--port", h.port)
	h.run("register", "--session-id", "dana", "dana")
	c := h.dialMCP("somebody")
	c.call("register", `{"alias":"coral"}`)
	for _, between := range []func(){func() {}, func() { h.kill(h.status().PID); h.run("serve", "start") }} {
		between()
		c.call("send", `{"to_alias":"dana","content":"which port?","answer_by":"1s"}`)
		h.until("told", func() bool { return strings.Contains(c.call("poll_inbox", `{}`), "dana has not answered") })
	}
}

func TestMailThatWakesNobodyRingsNoStream(t *testing.T) {
	h := newHost(t)
	h.run("serve", "start", "--port", h.port)
	h.run("register", "--session-id", "dana", "dana")
	c := h.dialMCP("somebody")
	c.call("register", `{"alias":"coral"}`)
	messages, _ := h.wakes(c, "coral")
	h.run("send", "--session-id", "dana", "--deferrable", "coral", "later")
	h.until("filtered", func() bool { return strings.Contains(h.broker(), `"result":"filtered"`) })
	h.run("send", "--session-id", "dana", "coral", "now")
	c.bell(messages)
	_, metrics := h.get("/metrics", h.token())
	wantText(t, "metrics", metrics, `c2c_mcp_sessions{surface_support="full"} 1`, `c2c_mcp_sessions{surface_support="degraded"} 0`,
		`c2c_doorbells_total{result="filtered"} 1`, `c2c_doorbells_total{result="send-failed"} 0`)
	select {
	case data := <-messages:
		t.Errorf("there is more on the stream: %s", data)
	default:
	}
}
