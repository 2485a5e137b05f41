package mcp

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"c2c/mcp/rpc"
	"c2c/mcp/tools"
)

func TestAMessageGoesOverHTTP(t *testing.T) {
	amber, birch := newHTTPLab(t, HTTPLimits{}).two()
	amber.want("send", `{"to_alias":"birch","content":"hi <there>","message_id":"m-1"}`)
	amber.wantState("m-1", "queued")
	if got := fields(t, birch.want("poll_inbox", `{}`)); got["content"] != "hi <there>" || got["from_alias"] != "amber" {
		t.Errorf("polled %v", got)
	}
	amber.wantState("m-1", "read")
	if got := birch.want("poll_inbox", `{}`); got != "[]" {
		t.Errorf("handed over again: %s", got)
	}
	if a, b := amber.alias(), birch.alias(); a != "amber" || b != "birch" {
		t.Errorf("they are %v and %v", a, b)
	}
}

func TestASessionIDIsAskedForAndChecked(t *testing.T) {
	l := newHTTPLab(t, HTTPLimits{})
	c := l.dial("one", 0)
	if len(c.id) < 22 {
		t.Fatalf("the id is %q", c.id)
	}
	ended := l.dial("two", 0)
	if resp := ended.do(ended.request(http.MethodDelete, "")); resp.StatusCode != http.StatusOK {
		t.Errorf("DELETE: %s", resp.Status)
	}
	ping := rpcMessage(1, "ping", "")
	for id, want := range map[string]int{
		"": 400, c.id: 0, ended.id: 404, rand.Text(): 404, strings.ToLower(c.id): 404, "x": 404, "../" + c.id: 404, c.id + " ": 0, strings.Repeat("a", 5000): 404,
	} {
		asked := *c
		asked.id = id
		for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
			body := ""
			if method == http.MethodPost {
				body = ping
			} else if want == 0 {
				continue // it works
			}
			resp := asked.do(asked.request(method, body))
			if want != 0 && resp.StatusCode != want || want == 0 && resp.StatusCode != http.StatusOK {
				t.Errorf("%s with id %.50q: %s", method, id, resp.Status)
			}
			resp.Body.Close()
		}
	}
	two := c.request(http.MethodPost, ping)
	two.Header.Add("Mcp-Session-Id", c.id)
	if resp := c.do(two); resp.StatusCode != http.StatusBadRequest {
		t.Errorf("two ids: %s", resp.Status)
	}
}

func TestWhatIsNoMessageIsRefused(t *testing.T) {
	l := newHTTPLab(t, HTTPLimits{Body: 10_000})
	c := l.dial("one", 0)
	for _, tc := range []struct {
		name, method, body string
		header             []string
		status             int
		says               string
	}{
		{"no JSON", "POST", "hello", nil, 400, "-32700"},
		{"half", "POST", `{"jsonrpc":"2.0",`, nil, 400, "-32700"},
		{"not UTF-8", "POST", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"caf\xe9\"}", nil, 400, "UTF-8"},
		{"a batch", "POST", "[" + rpcMessage(1, "ping", "") + "]", nil, 400, "-32600"},
		{"deep", "POST", strings.Repeat("[", 9000), nil, 400, "-32700"},
		{"an id that is an object", "POST", `{"jsonrpc":"2.0","id":{},"method":"ping"}`, nil, 400, "-32600"},
		{"nothing", "POST", "", nil, 400, "-32700"},
		{"too long", "POST", rpcMessage(1, "ping", `{"x":"`+strings.Repeat("x", 10_000)+`"}`), nil, 413, "longer"},
		{"text", "POST", rpcMessage(1, "ping", ""), []string{"Content-Type", "text/plain"}, 415, "json"},
		{"no type", "POST", rpcMessage(1, "ping", ""), []string{"Content-Type", ""}, 415, "json"},
		{"with a charset", "POST", rpcMessage(1, "ping", ""), []string{"Content-Type", "application/json; charset=utf-8"}, 200, "result"},
		{"another revision", "POST", rpcMessage(1, "ping", ""), []string{"Mcp-Protocol-Version", "2025-03-26"}, 200, "result"},
		{"no revision", "POST", rpcMessage(1, "ping", ""), []string{"Mcp-Protocol-Version", "1999-01-01"}, 400, "ersion"},
		{"words", "POST", rpcMessage(1, "ping", ""), []string{"Mcp-Protocol-Version", "rubbish"}, 400, "ersion"},
		{"a stream of no revision", "GET", "", []string{"Mcp-Protocol-Version", "rubbish"}, 400, "ersion"},
		{"a stream of a later one", "GET", "", []string{"Mcp-Protocol-Version", "2026-07-28"}, 405, ""},
		{"another method", "PUT", "", nil, 405, ""},
		{"a look", "HEAD", "", nil, 405, ""},
		{"a notification", "POST", `{"jsonrpc":"2.0","method":"notifications/whatever"}`, nil, 202, ""},
		{"an answer to nothing", "POST", `{"jsonrpc":"2.0","id":"c2c-ping-x-1","result":{}}`, nil, 202, ""},
		{"a cancellation of nothing", "POST", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}`, nil, 202, ""},
		{"no project", "POST", rpcMessage(1, "tools/call", `{"name":"list","arguments":{}}`), []string{"X-Test-Root", "none"}, 200, "which project"},
	} {
		resp := c.do(c.request(tc.method, tc.body, tc.header...))
		if body := drain(t, resp); resp.StatusCode != tc.status || !strings.Contains(body, tc.says) {
			t.Errorf("%s: %s, %s, want %d with %q", tc.name, resp.Status, body, tc.status, tc.says)
		}
	}
	if _, err := os.Lstat(l.root); !os.IsNotExist(err) {
		t.Errorf("the root was made: %v", err)
	}
}

// raw is a connection that a test may break where it likes.
type raw struct {
	t *testing.T
	*net.TCPConn
}

func (c *httpClient) raw() raw {
	c.t.Helper()
	u, err := url.Parse(c.url)
	if err != nil {
		c.t.Fatal(err)
	}
	conn, err := new(net.Dialer).DialContext(c.t.Context(), "tcp", u.Host)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { conn.Close() })
	return raw{c.t, conn.(*net.TCPConn)}
}

func (r raw) send(req *http.Request) {
	r.t.Helper()
	if err := req.Write(r); err != nil {
		r.t.Fatal(err)
	}
}

// reset breaks the connection as a client that is killed does, with something unread.
func (r raw) reset() {
	r.t.Helper()
	if err := r.SetLinger(0); err != nil {
		r.t.Fatal(err)
	}
	r.Close()
}

// begin sends a call of the tool "t", and does not wait for its answer.
func (c *httpClient) begin(id int) <-chan *http.Response {
	answer := make(chan *http.Response, 1)
	req := c.request(http.MethodPost, call(id))
	go func() {
		resp, err := c.client.Do(req)
		if err != nil {
			c.t.Error(err)
			resp = &http.Response{Body: http.NoBody}
		}
		answer <- resp
	}()
	return answer
}

func TestAnAnswerWhoseClientWentBeforeItDidNotArrive(t *testing.T) {
	l := newHTTPLab(t, HTTPLimits{})
	started, release, settled := make(chan bool), make(chan bool), make(chan error, 1)
	l.script(func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		tools.OnWritten(ctx, func(err error) { settled <- err })
		started <- true
		<-release
		return mcp.NewToolResultText("precious"), nil
	})
	c := l.dial("one", 0)
	conn := c.raw()
	conn.send(c.request(http.MethodPost, call(1)))
	<-started
	conn.reset()
	close(release)
	if err := <-settled; err == nil {
		t.Error("it counts as arrived")
	}
}

// A client that reads its answer and goes has it: its mail is not offered again.
func TestMailOfAnAnswerThatWasReadIsReadThoughTheClientGoesAtOnce(t *testing.T) {
	amber, birch := newHTTPLab(t, HTTPLimits{}).two()
	for i := range 20 {
		id := fmt.Sprintf("m-%d", i)
		amber.want("send", `{"to_alias":"birch","content":"precious","message_id":"`+id+`"}`)
		conn := birch.raw()
		conn.send(birch.request(http.MethodPost, birch.message("poll_inbox", `{}`), watchHeader, "1"))
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		if body := drain(t, resp); !strings.Contains(body, id) {
			t.Fatalf("polled %s", body)
		}
		conn.Close()
		<-birch.over
		amber.wantState(id, "read")
	}
}

// MCP: a connection that breaks is no cancellation. What waits for somebody else ends all the same:
// its answer comes as mail.
func TestHangingUpEndsOnlyWhatWaitsForSomebodyElse(t *testing.T) {
	for _, waits := range []bool{false, true} {
		l := newHTTPLab(t, HTTPLimits{})
		started, release := make(chan context.Context), make(chan bool)
		l.script(func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if waits {
				tools.YieldTurn(ctx)
			}
			started <- ctx
			<-release
			return mcp.NewToolResultText("ok"), nil
		})
		c := l.dial("one", 0)
		answer := c.begin(7)
		ctx := <-started
		p, _ := l.h.sessions.known(c.id).pending.Load("7")
		p.(*pendingCall).hangUp()
		if ended := ctx.Err() != nil; ended != waits {
			t.Errorf("waits %v: ended %v", waits, ended)
		}
		close(release)
		drain(t, <-answer)
	}
}

func TestACancelledCallIsNotAnswered(t *testing.T) {
	l := newHTTPLab(t, HTTPLimits{})
	started := make(chan bool)
	l.script(func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		started <- true
		<-ctx.Done()
		return nil, ctx.Err()
	})
	c := l.dial("one", 0)
	answer := c.begin(77)
	<-started
	c.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":77}}`).Body.Close()
	resp := <-answer
	if body := drain(t, resp); resp.StatusCode != http.StatusAccepted || body != "" {
		t.Errorf("%s: %s", resp.Status, body)
	}
}

// ask is a call that waits for birch, with progress.
func (c *httpClient) ask() *http.Request {
	c.calls++
	return c.request(http.MethodPost, rpcMessage(c.calls, "tools/call", `{"name":"ask","arguments":{"to_alias":"birch","content":"well?","wait_seconds":600},"_meta":{"progressToken":"p-1"}}`))
}

func (c *httpClient) question() string {
	c.t.Helper()
	for {
		if got := c.want("poll_inbox", `{}`); got != "[]" {
			id, _ := fields(c.t, got)["message_id"].(string)
			return id
		}
	}
}

func TestAskTellsItsProgressAndThenTheAnswer(t *testing.T) {
	l := newHTTPLab(t, HTTPLimits{})
	amber, birch := l.two()
	resp := amber.do(amber.ask())
	if got := resp.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Fatalf("%s, %s: %s", resp.Status, got, drain(t, resp))
	}
	e := &events{t, resp, bufio.NewReader(resp.Body)}
	if r, v := e.message(amber); r.Method != "notifications/progress" || !strings.Contains(v.data, "p-1") {
		t.Errorf("then %+v", v)
	}
	if got := amber.alias(); got != "amber" { // beside it
		t.Errorf("whoami %v", got)
	}
	birch.want("reply", `{"message_id":"`+birch.question()+`","content":"forty-two","kind":"message"}`)
	for {
		r, _ := e.message(amber)
		if r.Method != "" {
			continue
		}
		if texts, isError := r.texts(t); isError || !strings.Contains(texts[0], "forty-two") {
			t.Errorf("answered %q", texts)
		}
		break
	}
	if v, ok := e.next(); ok {
		t.Errorf("behind the answer: %+v", v)
	}
	if got := amber.want("poll_inbox", `{}`); got != "[]" {
		t.Errorf("the answer comes again: %s", got)
	}
}

// Nobody would hear the answer: it comes as mail.
func TestAnAskWhoseConnectionBreaksEnds(t *testing.T) {
	l := newHTTPLab(t, HTTPLimits{})
	amber, birch := l.two()
	ctx, cancel := context.WithCancel(t.Context())
	req := amber.ask().WithContext(ctx)
	req.Header.Set(watchHeader, "1")
	resp := amber.do(req)
	e := &events{t, resp, bufio.NewReader(resp.Body)}
	e.message(amber) // its progress
	cancel()
	question := birch.question()
	<-l.over
	birch.want("reply", `{"message_id":"`+question+`","content":"forty-two"}`)
	if got := amber.want("poll_inbox", `{}`); !strings.Contains(got, "forty-two") {
		t.Errorf("polled %s", got)
	}
}

// What an older client reads is a message, or nothing.
func TestAnOlderClientGetsNoEventWithoutWords(t *testing.T) {
	l := newHTTPLab(t, HTTPLimits{})
	c := l.dialAs("old", 0, "2025-06-18")
	if v, ok := c.stream().next(); !ok || !strings.Contains(v.data, `"ping"`) {
		t.Errorf("the first event is %+v", v)
	}
}

func TestTheInboxTellsHowMuchWaitsAndNoWord(t *testing.T) {
	amber, birch := newHTTPLab(t, HTTPLimits{}).two()
	stranger := amber.dial("three", 0)
	read := func(c *httpClient) string {
		return drain(t, c.post(rpcMessage(9, "resources/read", `{"uri":"c2c://inbox"}`)))
	}
	if got := read(stranger); !strings.Contains(got, `{\"waiting\":0}`) {
		t.Errorf("of a stranger: %s", got)
	}
	amber.want("send", `{"to_alias":"birch","content":"precious","message_id":"m-1"}`)
	if got := read(birch); !strings.Contains(got, `{\"waiting\":1,\"from\":[\"amber\"]}`) || strings.Contains(got, "precious") {
		t.Errorf("%s", got)
	}
	amber.wantState("m-1", "queued")
}

func TestASessionIsFoundAgainAfterARestart(t *testing.T) {
	l := newHTTPLab(t, HTTPLimits{})
	amber, birch := l.two()
	unbound := l.dial("three", 0)
	mine := l.dial("four", os.Getpid())
	mine.want("register", `{"alias":"coral"}`)
	gone := exec.Command("sleep", "1000")
	if err := gone.Start(); err != nil {
		t.Fatal(err)
	}
	restarted := l.dial("five", gone.Process.Pid)
	restarted.want("register", `{"alias":"dune"}`)
	amber.want("send", `{"to_alias":"birch","content":"precious"}`)
	l.stop()
	l.start(HTTPLimits{})
	gone.Process.Kill()
	gone.Wait()
	if resp := unbound.post(rpcMessage(1, "ping", "")); resp.StatusCode != http.StatusNotFound {
		t.Errorf("an id without a mailbox: %s", resp.Status)
	}
	if got := birch.want("poll_inbox", `{}`); !strings.Contains(got, "precious") {
		t.Errorf("polled %s", got)
	}
	if a, b := amber.alias(), birch.alias(); a != "amber" || b != "birch" {
		t.Errorf("they are %v and %v", a, b)
	}
	thief := *mine
	thief.process = os.Getppid()
	if resp := thief.post(rpcMessage(1, "ping", "")); resp.StatusCode != http.StatusNotFound {
		t.Errorf("another process with the id of one that lives: %s", resp.Status)
	}
	if got := mine.alias(); got != "coral" {
		t.Errorf("coral is %v", got)
	}
	restarted.process = os.Getppid()
	if got := restarted.alias(); got != "dune" {
		t.Errorf("a client that was started anew is %v", got)
	}
	if got := mine.do(mine.request(http.MethodDelete, "")); got.StatusCode != http.StatusOK {
		t.Errorf("DELETE: %s", got.Status)
	}
	l.stop()
	l.start(HTTPLimits{})
	if resp := mine.post(rpcMessage(1, "ping", "")); resp.StatusCode != http.StatusNotFound {
		t.Errorf("an id that was ended: %s", resp.Status)
	}
}

// A mailbox that is not on disk as this session's would be lost at the next start.
func TestASessionThatCannotBeKeptIsNotAnswered(t *testing.T) {
	l := newHTTPLab(t, HTTPLimits{})
	c := l.dial("one", 0)
	if err := os.RemoveAll(l.dir.Path()); err != nil {
		t.Fatal(err)
	}
	if texts, isError := c.call("register", `{"alias":"amber"}`); !isError || !strings.Contains(texts[0], "record the session") {
		t.Errorf("%v, %q", isError, texts)
	}
}

func TestSessionsOfOneProcess(t *testing.T) {
	l := newHTTPLab(t, HTTPLimits{})
	first := l.dial("one", os.Getpid())
	first.want("register", `{"alias":"amber"}`)
	_, leave := first.watched()
	second := l.dial("one", os.Getpid())
	second.want("register", `{"alias":"birch"}`)
	if a, b := first.alias(), second.alias(); a != "amber" || b != "birch" {
		t.Errorf("they are %v and %v", a, b)
	}
	first.want("send", `{"to_alias":"birch","content":"x"}`)
	if got := first.want("poll_inbox", `{}`); got != "[]" {
		t.Errorf("amber has %s", got)
	}
	leave()
	// It has lost its stream and initializes anew, as after a 404.
	third := l.dial("one", os.Getpid())
	if got := third.alias(); got != "amber" {
		t.Errorf("the client that comes back is %v", got)
	}
	third.want("poll_inbox", `{}`)
	if got := second.alias(); got != "birch" {
		t.Errorf("birch is %v", got)
	}
	if resp := first.post(rpcMessage(1, "ping", "")); resp.StatusCode != http.StatusOK {
		t.Errorf("the old connection: %s", resp.Status)
	}
}

func TestTwoConnectionsOfAProcessThatBeginAtOnceHaveAMailboxEach(t *testing.T) {
	l := newHTTPLab(t, HTTPLimits{})
	const n = 8
	clients := make([]*httpClient, n)
	for i := range clients {
		clients[i] = l.dial("one", os.Getpid())
	}
	errs := make(chan error, n)
	for i, c := range clients {
		req := c.request(http.MethodPost, c.message("poll_inbox", `{}`))
		go func() {
			resp, err := c.client.Do(req)
			if err == nil {
				resp.Body.Close()
				if resp.StatusCode != http.StatusOK {
					err = fmt.Errorf("%d: %s", i, resp.Status)
				}
			}
			errs <- err
		}()
	}
	for range clients {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	seen := map[string]bool{}
	for _, c := range clients {
		seen[c.sid()] = true
	}
	if len(seen) != n {
		t.Errorf("%d connections have %d mailboxes", n, len(seen))
	}
}

// The calls of a session run side by side, also the first ones.
func TestTheFirstCallsOfASessionFindOneMailbox(t *testing.T) {
	l := newHTTPLab(t, HTTPLimits{})
	c := l.dial("one", os.Getpid())
	var calls sync.WaitGroup
	for i := range 16 {
		calls.Go(func() {
			resp, err := c.client.Do(c.request(http.MethodPost, rpcMessage(i, "tools/call", `{"name":"register","arguments":{}}`)))
			if err != nil {
				t.Error(err)
				return
			}
			resp.Body.Close()
		})
	}
	calls.Wait()
	if all, err := l.broker(t).Sessions(t.Context()); err != nil || len(all) != 1 {
		t.Errorf("%d sessions, %v", len(all), err)
	}
}

func TestWhatACallSaysComesBeforeItsConnection(t *testing.T) {
	l := newHTTPLab(t, HTTPLimits{})
	c := l.dial("codex-mcp-client", os.Getpid())
	call := func(tool, args, thread string) []string {
		t.Helper()
		c.calls++
		body := drain(t, c.post(rpcMessage(c.calls, "tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s,"_meta":{"threadId":%q}}`, tool, args, thread))))
		texts, isError := replies(t, body+"\n")[0].texts(t)
		if isError {
			t.Fatalf("%s: %q", tool, texts)
		}
		return texts
	}
	call("register", `{"alias":"amber"}`, "t1")
	call("register", `{"alias":"birch"}`, "t2")
	call("send", `{"to_alias":"amber","content":"for amber"}`, "t2")
	if got := call("poll_inbox", `{}`, "t2"); got[0] != "[]" {
		t.Errorf("birch polled %q", got)
	}
	if got := call("poll_inbox", `{}`, "t1"); !strings.Contains(got[0], "for amber") {
		t.Errorf("amber polled %q", got)
	}
}

func TestTooManySessionsMakeTheIdleOnesGo(t *testing.T) {
	l := newHTTPLab(t, HTTPLimits{Sessions: 3})
	amber, birch := l.two()
	idle := l.dial("three", 0)
	l.clock.Add(1)
	next := l.dial("four", 0)
	if resp := idle.post(rpcMessage(1, "ping", "")); resp.StatusCode != http.StatusNotFound {
		t.Errorf("the one without a mailbox: %s", resp.Status)
	}
	next.want("register", `{"alias":"coral"}`)
	resp := (&httpClient{httpLab: l}).post(initialize(1, newest))
	if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" {
		t.Errorf("one more: %s", resp.Status)
	}
	if a, b, c := amber.alias(), birch.alias(), next.alias(); a != "amber" || b != "birch" || c != "coral" {
		t.Errorf("they are %v, %v, %v", a, b, c)
	}
}

func TestSessionsThatNobodyUsesGo(t *testing.T) {
	l := newHTTPLab(t, HTTPLimits{})
	bound, unbound, streaming := l.dial("one", 0), l.dial("two", 0), l.dial("three", 0)
	bound.want("register", `{"alias":"amber"}`)
	streaming.stream()
	process := exec.Command("sleep", "1000")
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	ended := l.dial("four", process.Process.Pid)
	ended.want("register", `{"alias":"birch"}`)
	there := func() (all []bool) {
		for _, c := range []*httpClient{bound, unbound, streaming, ended} {
			all = append(all, l.h.sessions.known(c.id) != nil)
		}
		return all
	}
	steps := []struct {
		after time.Duration
		want  []bool
	}{
		{29 * time.Minute, []bool{true, true, true, true}},
		{2 * time.Minute, []bool{true, false, true, true}},
		{23 * time.Hour, []bool{true, false, true, true}},
		{time.Hour, []bool{false, false, true, false}},
	}
	for i, step := range steps {
		if i == 3 {
			process.Process.Kill()
			process.Wait()
			l.h.sessions.sweep()
			if got := there(); got[3] || !got[0] {
				t.Errorf("of a process that has ended: %v", got)
			}
		}
		l.clock.Add(int64(step.after / time.Second))
		l.h.sessions.sweep()
		if got := there(); !slices.Equal(got, step.want) {
			t.Errorf("after step %d: %v", i, got)
		}
	}
	if left, err := filepath.Glob(filepath.Join(l.dir.Path(), "*.json")); err != nil || len(left) > 0 {
		t.Errorf("on disk: %q, %v", left, err)
	}
}

func TestRecordsOfOldSessionsGo(t *testing.T) {
	l := newHTTPLab(t, HTTPLimits{})
	var names []string
	for i := range 4 {
		name := rand.Text() + ".json"
		if err := l.dir.Write(name, []byte("{}\n")); err != nil {
			t.Fatal(err)
		}
		if err := l.dir.Touch(name, time.Now().Add(-time.Duration(i)*10*time.Hour)); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	if err := l.dir.Write("other.json", []byte("{}\n")); err != nil {
		t.Fatal(err)
	}
	l.h.sessions.sweep()
	left, err := l.dir.Names()
	want := append(slices.Clone(names[:3]), "other.json") // the last one is 30 hours old
	slices.Sort(left)
	slices.Sort(want)
	if err != nil || !slices.Equal(left, want) {
		t.Errorf("left are %q, %v, want %q", left, err, want)
	}
}

func TestCloseAnswersWhatIsUnderWay(t *testing.T) {
	l := newHTTPLab(t, HTTPLimits{})
	amber, birch := l.two()
	stream := birch.stream()
	asked := amber.do(amber.ask())
	e := &events{t, asked, bufio.NewReader(asked.Body)}
	e.message(amber)
	if err := l.h.Close(t.Context()); err != nil {
		t.Error(err)
	}
	for {
		if _, ok := stream.next(); !ok {
			break
		}
	}
	for {
		if r, _ := e.message(amber); r.Method == "" {
			if r.Error == nil {
				t.Errorf("ask ended with %s", r.Result)
			}
			break
		}
	}
	if resp := birch.post(rpcMessage(1, "ping", "")); resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("afterwards: %s", resp.Status)
	}
}

// modern is a request of 2026-07-28.
func (c *httpClient) modern(method, name, params string) string {
	c.t.Helper()
	return drain(c.t, c.post(c.modernBody("new", method, params), modernHeader(method, name)...))
}

// modernBody is what a client called so sends.
func (c *httpClient) modernBody(client, method, params string) string {
	meta := `"_meta":{"` + mcp.MetaKeyProtocolVersion + `":"2026-07-28","` + mcp.MetaKeyClientInfo + `":{"name":"` + client + `","version":"0"},"` + mcp.MetaKeyClientCapabilities + `":{}}`
	if params != "" {
		meta = params + "," + meta
	}
	return rpcMessage(1, method, "{"+meta+"}")
}

func modernHeader(method, name string) []string {
	header := []string{mcp.HeaderProtocolVersion, "2026-07-28", "Mcp-Method", method}
	if name != "" {
		header = append(header, "Mcp-Name", name)
	}
	return header
}

func (c *httpClient) modernCall(tool, args string) (texts []string, isError bool) {
	c.t.Helper()
	body := c.modern("tools/call", tool, `"name":"`+tool+`","arguments":`+args)
	return replies(c.t, strings.TrimSpace(body)+"\n")[0].texts(c.t)
}

func TestALaterRevisionIsAnswered(t *testing.T) {
	l := newHTTPLab(t, HTTPLimits{})
	amber := l.dial("one", 0)
	amber.want("register", `{"alias":"amber"}`)
	c := &httpClient{httpLab: l, process: os.Getpid()}
	if texts, isError := c.modernCall("register", `{"alias":"birch"}`); isError {
		t.Fatalf("register: %q", texts)
	}
	amber.want("send", `{"to_alias":"birch","content":"precious","message_id":"m-1"}`)
	if texts, isError := c.modernCall("poll_inbox", `{"session_id":"nobody"}`); !isError {
		t.Errorf("polled as another: %q", texts)
	}
	amber.wantState("m-1", "queued")
	if texts, isError := c.modernCall("poll_inbox", `{}`); isError || !strings.Contains(texts[0], "precious") {
		t.Errorf("polled %q", texts)
	}
	amber.wantState("m-1", "read")
	hidden := &httpClient{httpLab: l}
	if texts, isError := hidden.modernCall("poll_inbox", `{}`); !isError || !strings.Contains(texts[0], "initialize") {
		t.Errorf("a process that cannot be seen: %q", texts)
	}
}

// A client lists before it calls, and c2c may not see its process. A list makes no root, as over standard input.
func TestListsOfALaterRevisionAreAnswered(t *testing.T) {
	l := newHTTPLab(t, HTTPLimits{})
	for _, pid := range []int{os.Getpid(), 0} {
		c := &httpClient{httpLab: l, process: pid}
		for method, want := range map[string]string{
			"tools/list": `"name":"poll_inbox"`, "prompts/list": `"name":"poll_inbox"`, "resources/list": tools.InboxURI, "resources/templates/list": "[]",
		} {
			if got := c.modern(method, "", ""); !strings.Contains(got, want) {
				t.Errorf("process %d, %s: %q", pid, method, got)
			}
		}
		if got := c.modern("prompts/get", "poll_inbox", `"name":"poll_inbox"`); !strings.Contains(got, "call c2c's tool poll_inbox") {
			t.Errorf("process %d, the prompt: %q", pid, got)
		}
	}
	if _, err := os.Stat(l.root); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the root was made: %v", err)
	}
}

// mcp-go writes nothing then. The connection is there, and the client has all of that nothing.
func TestAnAnswerOfALaterRevisionThatWasNotWrittenDidNotArrive(t *testing.T) {
	l := newHTTPLab(t, HTTPLimits{})
	settled := make(chan error, 1)
	srv := scripted(func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		tools.OnWritten(ctx, func(err error) { settled <- err })
		l.h.stop(rpc.ErrStopping) // as Close does
		<-ctx.Done()
		return mcp.NewToolResultText("precious"), nil
	})
	l.h.stateless.handler = server.NewStreamableHTTPServer(srv, server.WithStateLess(true), server.WithDisableLocalhostProtection(true))
	c := &httpClient{httpLab: l, process: os.Getpid()}
	body := c.modern("tools/call", "t", `"name":"t","arguments":{}`)
	if err := <-settled; err == nil || strings.Contains(body, "precious") {
		t.Errorf("answered %q, and it counts as arrived: %v", body, err == nil)
	}
	if !strings.Contains(body, rpc.ErrStopping.Error()) {
		t.Errorf("the client is not told why: %q", body)
	}
}

func TestAToolErrorSettlesNothingInALaterRevision(t *testing.T) {
	for _, fails := range []server.ToolHandlerFunc{
		func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			tools.OnWritten(ctx, func(error) {})
			return mcp.NewToolResultError("x"), nil
		},
		func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) { panic("x") },
	} {
		ctx, written := tools.WithWritten(t.Context())
		func() {
			defer func() { recover() }()
			noteFailure(fails)(ctx, mcp.CallToolRequest{})
		}()
		if written.Failed == nil {
			t.Error("the answer counts as one")
		}
	}
}

// As long as a session is served it is said to be alive: so both sessions of a client go when it has ended.
func TestSessionsOfAClientThatHasEndedGo(t *testing.T) {
	l := newHTTPLab(t, HTTPLimits{})
	process := exec.Command("sleep", "1000")
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	first, second := l.dial("one", process.Process.Pid), l.dial("one", process.Process.Pid)
	first.want("register", `{"alias":"amber"}`)
	second.want("register", `{"alias":"birch"}`)
	sids := []string{first.sid(), second.sid()}
	b := l.broker(t)
	served := func() bool { return b.Locks.HasServer(sids[0]) || b.Locks.HasServer(sids[1]) }
	l.stop()
	l.start(HTTPLimits{})
	first.want("poll_inbox", `{}`)
	second.want("poll_inbox", `{}`)
	if a, b := first.alias(), second.alias(); a != "amber" || b != "birch" || !served() {
		t.Errorf("behind a restart they are %v and %v", a, b)
	}
	l.h.sessions.dropEnded()
	if l.h.sessions.known(first.id) == nil || l.h.sessions.known(second.id) == nil {
		t.Error("a session of a client that runs is gone")
	}
	process.Process.Kill()
	process.Wait()
	l.h.sessions.dropEnded()
	if l.h.sessions.known(first.id) != nil || l.h.sessions.known(second.id) != nil || served() {
		t.Error("a session of a client that has ended is there")
	}
}

func TestAClientThatCannotBeSeenIsAliveOnlyWhileItIsThere(t *testing.T) {
	l := newHTTPLab(t, HTTPLimits{})
	amber, birch := l.two()
	_, leave := birch.watched()
	b := l.broker(t)
	sids := []string{amber.sid(), birch.sid()}
	served := func() []bool { return []bool{b.Locks.HasServer(sids[0]), b.Locks.HasServer(sids[1])} }
	for i, step := range []struct {
		do   func()
		want []bool
	}{
		{func() { l.clock.Add(9 * 60) }, []bool{true, true}},
		{func() { l.clock.Add(2 * 60) }, []bool{false, true}},
		{leave, []bool{false, false}},
		{func() { amber.want("poll_inbox", `{}`) }, []bool{true, false}},
	} {
		step.do()
		l.h.sessions.sweep()
		if got := served(); !slices.Equal(got, step.want) {
			t.Errorf("step %d: served %v, want %v", i, got, step.want)
		}
	}
}

// A request of a later revision may come when the daemon has begun to wait for the end of all.
func TestARequestOfALaterRevisionThatComesWithTheEndIsRefused(t *testing.T) {
	l := newHTTPLab(t, HTTPLimits{})
	c := l.dial("one", 0)
	l.h.stateless.close()
	w := httptest.NewRecorder()
	m, _ := rpc.Parse([]byte(rpcMessage(1, "ping", "")))
	if l.h.stateless.serve(w, c.request(http.MethodPost, ""), m, m.Raw); w.Code != http.StatusServiceUnavailable {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
