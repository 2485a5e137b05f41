package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/server"

	"c2c/broker"
	"c2c/inbox"
	"c2c/internal/atomicfile"
	"c2c/mcp/tools"
	"c2c/wake"
)

// httpLab is a daemon's MCP path on a port of this machine.
type httpLab struct {
	t      *testing.T
	h      *HTTP
	url    string
	root   string
	dir    *atomicfile.Dir
	client *http.Client
	end    func()        // of the server
	clock  *atomic.Int64 // seconds that have passed besides
	over   chan struct{} // gets one when a request with watchHeader has ended
}

// processHeader says which process a request comes from, as the kernel does in the product.
const (
	processHeader = "X-Test-Process"
	watchHeader   = "X-Test-Watch"
)

// ServeHTTP tells when a watched request has ended.
func (l *httpLab) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.h.ServeHTTP(w, r)
	if r.Header.Get(watchHeader) != "" {
		l.over <- struct{}{}
	}
}

func newHTTPLab(t *testing.T, limits HTTPLimits) *httpLab {
	t.Helper()
	l := newLab(t)
	l.start(limits)
	return l
}

// newPipeLab is a lab whose connections are in memory, for a test whose time is not real.
func newPipeLab(t *testing.T) *httpLab {
	t.Helper()
	l := newLab(t)
	l.url = "http://c2c"
	l.h = l.handler(HTTPLimits{})
	pipes := pipeListener{make(chan net.Conn), make(chan struct{})}
	srv := &http.Server{Handler: l}
	go srv.Serve(pipes)
	transport := &http.Transport{DialContext: pipes.dial}
	l.client = &http.Client{Transport: transport}
	l.end = func() { srv.Close(); transport.CloseIdleConnections() }
	t.Cleanup(l.stop)
	return l
}

func newLab(t *testing.T) *httpLab {
	t.Helper()
	dir, err := atomicfile.Create(filepath.Join(t.TempDir(), "sessions"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dir.Close() })
	return &httpLab{t: t, root: filepath.Join(t.TempDir(), "root"), dir: dir, clock: new(atomic.Int64), over: make(chan struct{}, 64)}
}

// pipeListener has the connections of one server in this process.
type pipeListener struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (p pipeListener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case p.conns <- theirs:
		return ours, nil
	case <-p.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p pipeListener) Close() error {
	close(p.closed)
	return nil
}

func (p pipeListener) Addr() net.Addr { return &net.UnixAddr{} }

// handler is a new one on the same files.
func (l *httpLab) handler(limits HTTPLimits) *HTTP {
	return NewHTTP(HTTPConfig{
		Config: tools.Config{LockWait: time.Hour, Progress: 50 * time.Millisecond},
		Root: func(r *http.Request) (root, by string, err error) {
			if r.Header.Get("X-Test-Root") == "none" {
				return "", "", errors.New("there is none")
			}
			return l.root, "test", nil
		},
		URL: "http://127.0.0.1:1/mcp",
		Open: func(root string, log inbox.Log) (*broker.Broker, error) {
			return broker.Open(broker.Config{Root: root, Log: log})
		},
		Process: func(r *http.Request) int {
			pid, _ := strconv.Atoi(r.Header.Get(processHeader))
			return pid
		},
		CountStream: func(r *http.Request) (context.Context, func()) { return r.Context(), func() {} },
		Sessions:    l.dir, Limits: limits,
		Now: func() time.Time { return time.Now().Add(time.Duration(l.clock.Load()) * time.Second) },
	})
}

// broker is another process's view of the root.
func (l *httpLab) broker(t *testing.T) *broker.Broker {
	t.Helper()
	b, err := broker.Open(broker.Config{Root: l.root})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

// start is what the daemon does, again after stop.
func (l *httpLab) start(limits HTTPLimits) {
	l.h = l.handler(limits)
	srv := httptest.NewUnstartedServer(l)
	srv.Start()
	l.url, l.client = srv.URL, srv.Client()
	l.end = func() { srv.CloseClientConnections(); srv.Close() }
	l.t.Cleanup(l.stop)
}

func (l *httpLab) stop() {
	l.t.Helper()
	if err := l.h.Close(context.Background()); err != nil {
		l.t.Error(err)
	}
	if l.end != nil {
		l.end()
		l.end = nil
	}
}

// httpClient is one MCP session of a client.
type httpClient struct {
	*httpLab
	id      string
	process int
	calls   int
}

const newest = "2025-11-25"

func (l *httpLab) dial(name string, process int) *httpClient {
	l.t.Helper()
	return l.dialAs(name, process, newest)
}

func (l *httpLab) dialAs(name string, process int, version string) *httpClient {
	l.t.Helper()
	c := &httpClient{httpLab: l, process: process}
	resp := c.post(rpcMessage(1, "initialize", `{"protocolVersion":"`+version+`","capabilities":{},"clientInfo":{"name":"`+name+`","version":"0"}}`))
	body := drain(l.t, resp)
	if resp.StatusCode != http.StatusOK {
		l.t.Fatalf("initialize: %s, %s", resp.Status, body)
	}
	c.id = resp.Header.Get(server.HeaderKeySessionID)
	c.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`).Body.Close()
	return c
}

func (c *httpClient) request(method, body string, header ...string) *http.Request {
	c.t.Helper()
	r, err := http.NewRequestWithContext(c.t.Context(), method, c.url, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if c.id != "" {
		r.Header.Set(server.HeaderKeySessionID, c.id)
	}
	r.Header.Set(processHeader, strconv.Itoa(c.process))
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return r
}

func (c *httpClient) do(r *http.Request) *http.Response {
	c.t.Helper()
	resp, err := c.client.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { resp.Body.Close() })
	return resp
}

// post sends a message that is answered at once. It returns when the server has done with it.
func (c *httpClient) post(body string, header ...string) *http.Response {
	c.t.Helper()
	resp := c.do(c.request(http.MethodPost, body, append(header, watchHeader, "1")...))
	<-c.over
	return resp
}

func drain(t *testing.T, resp *http.Response) string {
	t.Helper()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return string(body)
}

func (c *httpClient) message(tool, args string) string {
	c.calls++
	return rpcMessage(c.calls, "tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, args))
}

// call calls a tool that is answered by JSON.
func (c *httpClient) call(tool, args string) (texts []string, isError bool) {
	c.t.Helper()
	resp := c.post(c.message(tool, args))
	body := drain(c.t, resp)
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "application/json" {
		c.t.Fatalf("%s: %s, %s, %s", tool, resp.Status, resp.Header.Get("Content-Type"), body)
	}
	return replies(c.t, body+"\n")[0].texts(c.t)
}

func (c *httpClient) want(tool, args string) string {
	c.t.Helper()
	texts, isError := c.call(tool, args)
	if isError {
		c.t.Fatalf("%s %s: %q", tool, args, texts)
	}
	return texts[0]
}

func (c *httpClient) wantState(id, want string) {
	c.t.Helper()
	if got := fields(c.t, c.want("message_status", `{"message_id":"`+id+`"}`)); got["state"] != want {
		c.t.Errorf("%s is %v, want %s", id, got, want)
	}
}

func (c *httpClient) alias() any {
	c.t.Helper()
	return fields(c.t, c.want("whoami", `{}`))["alias"]
}

// two are clients whose process cannot be seen.
func (l *httpLab) two() (amber, birch *httpClient) {
	l.t.Helper()
	amber, birch = l.dial("one", 0), l.dial("two", 0)
	amber.want("register", `{"alias":"amber"}`)
	birch.want("register", `{"alias":"birch"}`)
	return amber, birch
}

// script has the tool "t" run f, in the place of all tools.
func (l *httpLab) script(f server.ToolHandlerFunc) { l.h.srv = scripted(f) }

// event is one of a stream.
type event struct{ id, data string }

// events reads a stream.
type events struct {
	t    *testing.T
	resp *http.Response
	r    *bufio.Reader
}

// watched is a stream that the test ends.
func (c *httpClient) watched(header ...string) (e *events, leave func()) {
	c.t.Helper()
	e = c.stream(append(header, watchHeader, "1")...)
	return e, func() {
		e.resp.Body.Close()
		<-c.over
	}
}

func (c *httpClient) stream(header ...string) *events {
	c.t.Helper()
	resp := c.do(c.request(http.MethodGet, "", header...))
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/event-stream" {
		c.t.Fatalf("the stream: %s, %s", resp.Status, drain(c.t, resp))
	}
	return &events{c.t, resp, bufio.NewReader(resp.Body)}
}

// next reads an event; ok is false at the end of the stream.
func (e *events) next() (v event, ok bool) {
	e.t.Helper()
	for {
		line, err := e.r.ReadString('\n')
		if err != nil {
			return v, false
		}
		line = strings.TrimSuffix(line, "\n")
		name, value, _ := strings.Cut(line, ": ")
		switch name {
		case "":
			if line == "" {
				return v, true
			}
		case "id":
			v.id = value
		case "data":
			v.data += value
		}
	}
}

// message reads the next event with words, and answers the pings before it.
func (e *events) message(c *httpClient) (reply, event) {
	e.t.Helper()
	for {
		v, ok := e.next()
		if !ok {
			e.t.Fatal("the stream has ended")
		}
		if v.data == "" {
			continue
		}
		var ping struct {
			ID     json.RawMessage
			Method string
		}
		if err := json.Unmarshal([]byte(v.data), &ping); err != nil {
			e.t.Fatalf("%v in %s", err, v.data)
		}
		if ping.Method == "ping" {
			c.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{}}`, ping.ID)).Body.Close()
			continue
		}
		return replies(e.t, v.data+"\n")[0], v
	}
}

// answering reads in the background, as a client does: it answers the pings, and gives all other
// events.
func (e *events) answering(c *httpClient) <-chan event {
	all := make(chan event, 8192)
	go func() {
		defer close(all)
		for {
			v, ok := e.next()
			if !ok {
				return
			}
			var ping struct {
				ID     json.RawMessage
				Method string
			}
			json.Unmarshal([]byte(v.data), &ping)
			if ping.Method != "ping" {
				all <- v
				continue
			}
			r := c.request(http.MethodPost, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{}}`, ping.ID))
			if resp, err := c.client.Do(r); err == nil {
				resp.Body.Close()
			}
		}
	}()
	return all
}

// bellOf waits until the session has a bell.
func (c *httpClient) bellOf(sid string) wake.Doorbell {
	c.t.Helper()
	for {
		if bell := c.h.Streams(c.root)[sid]; bell != nil {
			return bell
		}
		select {
		case <-c.h.Moved():
		case <-c.t.Context().Done():
			c.t.Fatal("no bell")
		}
	}
}

// sid is the session's id, which a call has bound.
func (c *httpClient) sid() string {
	c.t.Helper()
	sid, _ := fields(c.t, c.want("whoami", `{}`))["session_id"].(string)
	return sid
}
