package mcp

import (
	"bufio"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"

	"c2c/mcp/tools"
	"c2c/wake"
)

// versions are those that server/discover offers a client called so.
func (c *httpClient) versions(client string) (all []string) {
	c.t.Helper()
	body := drain(c.t, c.post(c.modernBody(client, "server/discover", ""), modernHeader("server/discover", "")...))
	var said struct {
		Result mcp.DiscoverResult `json:"result"`
	}
	if err := json.Unmarshal([]byte(body), &said); err != nil {
		c.t.Fatalf("%v in %s", err, body)
	}
	return said.Result.SupportedVersions
}

// A client that we know comes with initialize as before. Another one may have no revision but the
// latest.
func TestTheLatestRevisionIsOfferedToAClientThatWeDoNotKnow(t *testing.T) {
	l := newHTTPLab(t, HTTPLimits{})
	seen, hidden := &httpClient{httpLab: l, process: os.Getpid()}, &httpClient{httpLab: l}
	for _, c := range []struct {
		from   *httpClient
		client string
		want   bool
	}{{seen, "new", true}, {seen, "claude-code", false}, {seen, "copilot-cli", false}, {seen, "cursor-vscode", false}, {hidden, "new", false}} {
		got := c.from.versions(c.client)
		if slices.Contains(got, "2026-07-28") != c.want || !slices.Contains(got, newest) {
			t.Errorf("%s, seen: %v: offered %q", c.client, c.from == seen, got)
		}
	}
}

// listens opens a stream for these resources, whose first event is the acknowledgement.
func (c *httpClient) listens(uris string) (e *events, leave func()) {
	c.t.Helper()
	body := c.modernBody("new", "subscriptions/listen", `"notifications":{"resourceSubscriptions":[`+uris+`]}`)
	resp := c.do(c.request(http.MethodPost, body, append(modernHeader("subscriptions/listen", ""), watchHeader, "1")...))
	if kind := resp.Header.Get("Content-Type"); kind != "text/event-stream" {
		c.t.Fatalf("%s, %s: %s", resp.Status, kind, drain(c.t, resp))
	}
	e = &events{t: c.t, resp: resp, r: bufio.NewReader(resp.Body)}
	if v, ok := e.next(); !ok || !strings.Contains(v.data, "subscriptions/acknowledged") {
		c.t.Fatalf("acknowledged with %+v", v)
	}
	return e, func() {
		resp.Body.Close()
		<-c.over
	}
}

// The specification wants the acknowledgement first, also if c2c has nothing of what the client
// asks for.
func TestASubscriptionToNothingIsAcknowledged(t *testing.T) {
	c := &httpClient{httpLab: newHTTPLab(t, HTTPLimits{}), process: os.Getpid()}
	for range 10 {
		got := drain(t, c.post(c.modernBody("new", "subscriptions/listen", `"notifications":{"toolsListChanged":true}`), modernHeader("subscriptions/listen", "")...))
		if ack, result := strings.Index(got, "subscriptions/acknowledged"), strings.Index(got, `"result"`); ack < 0 || result < ack {
			t.Fatalf("answered %s", got)
		}
	}
}

// rings waits until a session has a bell.
func (c *httpClient) rings() wake.Doorbell {
	c.t.Helper()
	for {
		for _, bell := range c.h.Streams(c.root) {
			return bell
		}
		<-c.h.Moved()
	}
}

func TestAClientOfTheLatestRevisionIsRung(t *testing.T) {
	l := newHTTPLab(t, HTTPLimits{})
	c := &httpClient{httpLab: l, process: os.Getpid()}
	e, leave := c.listens(`"c2c://inbox"`)
	if got := l.h.Streams(l.root); len(got) != 0 || len(l.h.Roots()) != 0 {
		t.Errorf("without a mailbox there are %d bells, and the roots %q", len(got), l.h.Roots())
	}
	if texts, isError := c.modernCall("register", `{"alias":"birch"}`); isError {
		t.Fatalf("register: %q", texts)
	}
	bell := c.rings()
	if full, degraded := l.h.Surfaces(); full != 1 || degraded != 0 || !slices.Equal(l.h.Roots(), []string{l.root}) {
		t.Errorf("%d full, %d degraded, roots %q", full, degraded, l.h.Roots())
	}
	if texts, _ := c.modernCall("runtime_diagnostics", `{}`); fields(t, texts[0])["protocol"] != "2026-07-28" {
		t.Errorf("diagnostics: %s", texts[0])
	}
	for range 3 {
		if err := bell.Ring(t.Context(), wake.Notice{Count: 1, From: []string{"amber"}, RingID: "t-1"}); err != nil {
			t.Fatal(err)
		}
		want := `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"_meta":{"` + mcp.MetaKeySubscriptionID + `":1,"trace_id":"t-1"},"uri":"c2c://inbox"}}`
		if v, _ := e.next(); v.data != want {
			t.Errorf("rung by %+v", v)
		}
	}
	leave()
	if got := l.h.Streams(l.root); len(got) != 0 {
		t.Errorf("without a stream there are %d bells", len(got))
	}
	if err := bell.Ring(t.Context(), wake.Notice{}); !errors.Is(err, wake.ErrUnreachable) {
		t.Errorf("rung without a stream: %v", err)
	}
	if texts, _ := c.modernCall("runtime_diagnostics", `{}`); !strings.Contains(texts[0], "subscriptions/listen") {
		t.Errorf("diagnostics without a stream: %s", texts[0])
	}
}

func TestAStreamForAnotherResourceIsNoBell(t *testing.T) {
	l := newHTTPLab(t, HTTPLimits{})
	c := &httpClient{httpLab: l, process: os.Getpid()}
	c.modernCall("register", `{"alias":"birch"}`)
	_, leave := c.listens(`"c2c://other"`)
	defer leave()
	if got := l.h.Streams(l.root); len(got) != 0 {
		t.Errorf("there are %d bells", len(got))
	}
}

// A client that has lost its stream may listen again before the loss is seen here.
func TestTheNewestSubscriptionOfAProcessStays(t *testing.T) {
	l := newHTTPLab(t, HTTPLimits{})
	c := &httpClient{httpLab: l, process: os.Getpid()}
	c.modernCall("register", `{"alias":"birch"}`)
	first, _ := c.listens(`"c2c://inbox"`)
	old := c.rings()
	second, leave := c.listens(`"c2c://inbox"`)
	defer leave()
	if v, ok := first.next(); ok && !strings.Contains(v.data, `"result"`) {
		t.Errorf("the first goes on: %+v", v)
	}
	<-c.over
	if err := old.Ring(t.Context(), wake.Notice{}); !errors.Is(err, wake.ErrUnreachable) {
		t.Errorf("the first rings: %v", err)
	}
	if err := c.rings().Ring(t.Context(), wake.Notice{}); err != nil {
		t.Fatal(err)
	}
	if v, _ := second.next(); !strings.Contains(v.data, tools.InboxURI) {
		t.Errorf("rung by %+v", v)
	}
}

// After a start of the daemon nothing is known of the process, and its session is found by it.
func TestASubscriptionFindsTheSessionOfItsProcess(t *testing.T) {
	l := newHTTPLab(t, HTTPLimits{})
	c := &httpClient{httpLab: l, process: os.Getpid()}
	c.modernCall("register", `{"alias":"birch"}`)
	l.stop()
	l.start(HTTPLimits{})
	_, leave := c.listens(`"c2c://inbox"`)
	defer leave()
	c.rings()
}

// Who does both in one process goes on with the session, and both have its mailbox.
func TestACallOfTheLatestRevisionLeavesTheSessionOfItsProcessAlone(t *testing.T) {
	l := newHTTPLab(t, HTTPLimits{})
	process := exec.Command("sleep", "1000")
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { process.Process.Kill(); process.Wait() }()
	c := l.dial("one", process.Process.Pid)
	c.want("register", `{"alias":"amber"}`)
	both := &httpClient{httpLab: l, process: process.Process.Pid}
	if texts, isError := both.modernCall("whoami", `{}`); isError || fields(t, texts[0])["alias"] != "amber" {
		t.Errorf("it is %q", texts)
	}
	if got := c.alias(); got != "amber" {
		t.Errorf("the session is that of %v", got)
	}
}

func TestTheEndOfTheDaemonEndsSubscriptions(t *testing.T) {
	l := newHTTPLab(t, HTTPLimits{})
	c := &httpClient{httpLab: l, process: os.Getpid()}
	e, _ := c.listens(`"c2c://inbox"`)
	if err := l.h.Close(t.Context()); err != nil {
		t.Error(err)
	}
	for {
		if _, ok := e.next(); !ok {
			break
		}
	}
	<-c.over
}
