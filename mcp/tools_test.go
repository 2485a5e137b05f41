package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"c2c/broker"
	"c2c/inbox"
	"c2c/mcp/tools"
	"c2c/sessions/callers"
)

// client is one MCP server process on a shared root, as one session has it.
type testClient struct {
	t      *testing.T
	root   string
	name   string // clientInfo.name
	thread string // Codex's _meta.threadId
	env    map[string]string
}

func (c testClient) config() tools.Config {
	return tools.Config{LockWait: time.Hour, Getenv: func(name string) string { return c.env[name] },
		Open: func(log inbox.Log) (*broker.Broker, error) {
			return broker.Open(broker.Config{Root: c.root, Log: log, Hosts: func() ([]string, error) { return []string{"devbox"}, nil }})
		}}
}

// call runs one tool in a server of its own and returns the texts of the answer.
func (c testClient) call(name, args string) (texts []string, isError bool) {
	c.t.Helper()
	meta := ""
	if c.thread != "" {
		meta = fmt.Sprintf(`,"_meta":{"threadId":%q}`, c.thread)
	}
	input := rpcMessage(0, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"`+c.name+`","version":"0"}}`) +
		rpcMessage(1, "tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s%s}`, name, args, meta))
	for _, r := range exchange(c.t, tools.New(c.config()), input) {
		if r.ID == nil || *r.ID != 1 {
			continue
		}
		return r.texts(c.t)
	}
	c.t.Fatalf("%s is not answered", name)
	return nil, false
}

// want calls a tool that must work and returns its JSON.
func (c testClient) want(name, args string) string {
	c.t.Helper()
	texts, isError := c.call(name, args)
	if isError {
		c.t.Fatalf("%s %s: %s", name, args, texts)
	}
	return texts[0]
}

func (c testClient) refused(name, args, says string) {
	c.t.Helper()
	if texts, isError := c.call(name, args); !isError || !strings.Contains(strings.Join(texts, " "), says) {
		c.t.Errorf("%s %s: error %v, %q, want an error with %q", name, args, isError, texts, says)
	}
}

// pair is a Claude Code session amber and a Codex thread birch.
func pair(t *testing.T) (amber, birch testClient) {
	t.Helper()
	root := filepath.Join(t.TempDir(), "root")
	amber = testClient{t: t, root: root, name: "claude-code", env: map[string]string{"C2C_MCP_SESSION_ID": "amber"}}
	birch = testClient{t: t, root: root, name: "codex-mcp-client", thread: "thread-1"}
	amber.want("register", `{"alias":"amber","role":"reviewer"}`)
	birch.want("register", `{"alias":"birch"}`)
	return amber, birch
}

func fields(t *testing.T, text string) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(strings.TrimSuffix(strings.TrimPrefix(text, "["), "]")), &m); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return m
}

func TestAMessageGoesFromToolToToolAndItsStatusFollows(t *testing.T) {
	amber, birch := pair(t)
	sent := fields(t, amber.want("send", `{"to_alias":"BIRCH","content":"hi <there>","message_id":"m-1","kind":"question","tag":"urgent"}`))
	if sent["queued"] != true || sent["to_alias"] != "birch" || sent["message_id"] != "m-1" {
		t.Errorf("receipt %v", sent)
	}
	if got := fields(t, amber.want("message_status", `{"message_id":"m-1"}`)); got["state"] != "queued" {
		t.Errorf("status %v", got)
	}
	for _, tool := range []string{"peek_inbox", "poll_inbox"} {
		got := fields(t, birch.want(tool, `{}`))
		if got["from_alias"] != "amber" || got["to_alias"] != "birch" || got["content"] != "hi <there>" || got["message_id"] != "m-1" || got["kind"] != "question" {
			t.Errorf("%s %v", tool, got)
		}
	}
	if got := birch.want("poll_inbox", `{}`); got != "[]" {
		t.Errorf("handed over again: %s", got)
	}
	if got := fields(t, amber.want("message_status", `{"message_id":"m-1"}`)); got["state"] != "read" || got["by"] != "poll_inbox" {
		t.Errorf("status %v", got)
	}
	if got := birch.want("history", `{"limit":0}`); !strings.Contains(got, "hi <there>") {
		t.Errorf("the whole history is %s", got)
	}
	if got := fields(t, birch.want("history", `{"limit":1}`)); got["content"] != "hi <there>" || got["drained_at"] == nil {
		t.Errorf("history %v", got)
	}
}

func TestSendAllReachesEverybodyElse(t *testing.T) {
	amber, birch := pair(t)
	receipt := amber.want("send_all", `{"content":"frozen","exclude_aliases":["nobody"]}`)
	got := fields(t, receipt)
	if got["stored_for"] != 1.0 || len(receipt) > 120 {
		t.Errorf("%v", got)
	}
	if st := fields(t, amber.want("look", fmt.Sprintf(`{"at":"status","of":%q}`, got["message_id"]))); st["state"] != "queued" || st["to_alias"] != "birch" {
		t.Errorf("status by the receipt's id: %v", st)
	}
	if got := birch.want("poll_inbox", `{}`); !strings.Contains(got, "frozen") {
		t.Errorf("birch has %s", got)
	}
	if got := amber.want("poll_inbox", `{}`); got != "[]" {
		t.Errorf("amber has %s", got)
	}
}

func TestWhatIsWrongIsSaidAndWhatToDo(t *testing.T) {
	amber, _ := pair(t)
	amber.refused("send", `{"to_alias":"brch","content":"x"}`, "birch")
	amber.refused("send", `{"to_alias":"amber","content":"x"}`, "yourself")
	amber.refused("send", `{"content":"x"}`, "it needs to")
	amber.refused("send", `{"to_alias":"birch","content":"x","kind":"nonsense"}`, "kind")
	amber.refused("send", `{"to_alias":"birch","content":"x","colour":"red"}`, "colour")
	amber.refused("send", `{"to_alias":"birch","content":"a\u0000b"}`, "NUL")
	amber.refused("message_status", `{"message_id":"nobody-knows"}`, "no such message")
	amber.refused("register", `{"alias":"../x"}`, "alias")
	amber.refused("nonsense", `{}`, "nonsense")
}

// In words, so that a model can put it right.
func TestWhatIsWrongWithArgumentsIsSaidInWords(t *testing.T) {
	_, birch := pair(t)
	birch.refused("send", `{"to_alias":"amber","body":"hello"}`, "send: it needs content; it takes no body")
	birch.refused("history", `{"limit":-1}`, "history: limit: got -1, want 0 or more")
	birch.refused("history", `{"limit":"all"}`, "history: limit: got string, want integer")
	birch.refused("send", `{"to_alias":"amber","content":"hello","kind":"joke"}`, "send: kind: got \"joke\", want one of message, question, ")
	birch.refused("send", `["amber"]`, "send: arguments: got array, want object")
}

func TestListWhoamiAndLog(t *testing.T) {
	amber, birch := pair(t)
	var rows []map[string]any
	if err := json.Unmarshal([]byte(birch.want("list", `{}`)), &rows); err != nil || len(rows) != 2 {
		t.Fatalf("%v, %v", rows, err)
	}
	if rows[0]["alias"] != "amber" || rows[0]["role"] != "reviewer" || rows[0]["session_id"] != "amber" {
		t.Errorf("row %v", rows[0])
	}
	if got := fields(t, birch.want("whoami", `{}`)); got["alias"] != "birch" {
		t.Errorf("whoami %v", got)
	}
	if got := fields(t, birch.want("me", `{"role":"tester"}`)); got["role"] != "tester" {
		t.Errorf("me %v", got)
	}
	amber.want("send", `{"to_alias":"birch","content":"secret words","message_id":"m-9"}`)
	log := amber.want("tail_log", `{"limit":10}`)
	if !strings.Contains(log, `"dm_enqueue"`) || !strings.Contains(log, `"m-9"`) || !strings.Contains(log, `"tool":"send"`) || strings.Contains(log, "secret") {
		t.Errorf("log %s", log)
	}
	if got := fields(t, amber.want("server_info", `{}`)); got["version"] != broker.Version || got["root"] != amber.root {
		t.Errorf("server_info %v", got)
	}
	if got := fields(t, amber.want("sweep", `{}`)); fmt.Sprint(got["dropped_regs"]) != "[]" {
		t.Errorf("sweep %v", got)
	}
}

// Clients start throw-away copies of their servers.
func TestNothingIsMadeBeforeATool(t *testing.T) {
	c := testClient{t: t, root: filepath.Join(t.TempDir(), "root"), name: "claude-code"}
	exchange(t, tools.New(c.config()), rpcMessage(1, "server/discover", "")+initialize(2, "2025-11-25")+rpcMessage(3, "tools/list", "")+rpcMessage(4, "ping", ""))
	if _, err := os.Lstat(c.root); !os.IsNotExist(err) {
		t.Errorf("the root is there: %v", err)
	}
}

// Until somebody serves the session, the terminal of c2c start tells its client to run a command.
func TestASessionThatWasStartedIsServedBeforeATool(t *testing.T) {
	c := testClient{t: t, root: filepath.Join(t.TempDir(), "root"), env: map[string]string{"C2C_MCP_SESSION_ID": "amber"}}
	b, err := broker.Open(broker.Config{Root: c.root})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	s, err := b.Register(t.Context(), callers.Caller{Start: "amber", Client: "gemini", PID: os.Getpid()}, "amber")
	if err != nil {
		t.Fatal(err)
	}
	srv := tools.New(c.config())
	exchange(t, srv, rpcMessage(1, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"gemini","version":"0"}}`))
	if !b.Locks.HasServer(s.ID) {
		t.Error("nobody serves it")
	}
	runtime.KeepAlive(srv)
}

func TestAWarningOfTheOpeningIsToldWithTheAnswer(t *testing.T) {
	c := testClient{t: t, root: filepath.Join(t.TempDir(), "root"), name: "claude-code", env: map[string]string{"C2C_MCP_SESSION_ID": "s"}}
	cfg := c.config()
	open := cfg.Open
	cfg.Open = func(log inbox.Log) (*broker.Broker, error) {
		log.Warn("something is odd", "file", "x")
		return open(log)
	}
	got := make(chan []reply, 1)
	go func() {
		got <- exchange(t, tools.New(cfg), initialize(1, "2025-11-25")+rpcMessage(2, "tools/call", `{"name":"list","arguments":{}}`))
	}()
	select {
	case replies := <-got:
		if texts, _ := replies[len(replies)-1].texts(t); len(texts) != 2 || texts[1] != "Tell your user: something is odd: file x." {
			t.Errorf("told %q", texts)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("the call waits for itself")
	}
}

// lost is a client that goes away with its answer.
type lost struct{}

func (lost) Write(b []byte) (int, error) {
	if strings.Contains(string(b), "precious") {
		return 0, errors.New("broken pipe")
	}
	return len(b), nil
}

func TestMailOfAnAnswerThatWasNotWrittenIsOfferedAgain(t *testing.T) {
	for _, tool := range []string{"poll_inbox", "whoami"} {
		amber, birch := pair(t)
		amber.want("send", `{"to_alias":"birch","content":"precious","message_id":"m-1"}`)
		input := rpcMessage(0, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"codex-mcp-client","version":"0"}}`) +
			rpcMessage(1, "tools/call", `{"name":"`+tool+`","arguments":{},"_meta":{"threadId":"thread-1"}}`)
		err := Serve(t.Context(), strings.NewReader(input), lost{}, tools.New(birch.config()), patient)
		if err == nil || errors.Is(err, io.EOF) {
			t.Errorf("%s: serve: %v", tool, err)
		}
		if got := fields(t, amber.want("message_status", `{"message_id":"m-1"}`)); got["state"] != "queued" {
			t.Errorf("%s: status %v", tool, got)
		}
		if got := birch.want("poll_inbox", `{}`); !strings.Contains(got, "precious") {
			t.Errorf("%s: birch has %s", tool, got)
		}
	}
}

func TestManyMessagesComeInPartsInOrder(t *testing.T) {
	amber, birch := pair(t)
	body := strings.Repeat("x", 2000)
	for i := range 8 {
		amber.want("send", fmt.Sprintf(`{"to_alias":"birch","content":"%d%s"}`, i, body))
	}
	next := 0
	for range 8 {
		texts, _ := birch.call("poll_inbox", `{}`)
		var msgs []struct{ Content string }
		if err := json.Unmarshal([]byte(texts[0]), &msgs); err != nil {
			t.Fatal(err)
		}
		for _, m := range msgs {
			if want := fmt.Sprint(next); !strings.HasPrefix(m.Content, want) {
				t.Fatalf("message %s is %.3s", want, m.Content)
			}
			next++
		}
		if next == 8 {
			return
		}
		if len(texts) != 2 || !strings.Contains(texts[1], "call poll_inbox again") {
			t.Fatalf("after %d: %q", next, texts[1:])
		}
	}
	t.Errorf("only %d came", next)
}

// In the registry that word exempts from sweeps.
func TestAClientThatCallsItselfHumanIsNoPerson(t *testing.T) {
	c := testClient{t: t, root: filepath.Join(t.TempDir(), "root"), name: "Human", env: map[string]string{"C2C_MCP_SESSION_ID": "s"}}
	c.want("register", `{"alias":"amber"}`)
	if list := c.want("list", `{}`); strings.Contains(list, `"person"`) || !strings.Contains(list, "amber") {
		t.Errorf("listed as %s", list)
	}
}

// An error would make the model send its answer again.
func TestAnAnswerThatIsSentIsNoErrorIfNobodyIsToldThatItIsDone(t *testing.T) {
	amber, birch := pair(t)
	id := fields(t, amber.want("send", `{"to_alias":"birch","content":"q?","kind":"question"}`))["message_id"].(string)
	if err := os.Mkdir(filepath.Join(amber.root, "notify.json"), 0o700); err != nil {
		t.Fatal(err)
	}
	got := fields(t, birch.want("reply", `{"message_id":"`+id+`","content":"42","done":true}`))
	if note, _ := got["note"].(string); !strings.Contains(note, "nobody is told that you are done: ") || got["message_id"] == "" {
		t.Errorf("the receipt is %v", got)
	}
}
