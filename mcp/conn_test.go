package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"c2c/internal/atomicfile"
	"c2c/mcp/tools"
	"c2c/sessions/callers"
)

// conn is a client with a server process of its own at the other end of two pipes.
type conn struct {
	t     *testing.T
	srv   *tools.Server
	in    io.WriteCloser
	out   io.Reader // what lines reads from
	lines *bufio.Reader
	ended chan error // gets what Serve returns
	id    int
}

// dial starts a server and initializes it as name, unless it has a Modern.
func dial(t *testing.T, cfg tools.Config, name string) *conn {
	return dialLimited(t, cfg, name, patient)
}

func dialLimited(t *testing.T, cfg tools.Config, name string, limits StdioLimits) *conn {
	t.Helper()
	in, w := io.Pipe()
	r, out := io.Pipe()
	limits.Stateless, _ = cfg.Stateless.(*Stateless)
	c := &conn{t: t, srv: tools.New(cfg), in: w, out: r, lines: bufio.NewReader(r), ended: make(chan error, 1)}
	go func() {
		err := Serve(t.Context(), in, out, c.srv, limits)
		out.CloseWithError(io.EOF) // who still reads hears of it
		c.ended <- err
	}()
	if cfg.Stateless != nil {
		return c
	}
	c.write("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"`+name+`","version":"0"}}`)
	if r := c.read(); r.Error != nil {
		t.Fatalf("initialize: %s", r.Error.Message)
	}
	return c
}

func (c *conn) write(method, params string) {
	c.id++
	if _, err := io.WriteString(c.in, rpcMessage(c.id, method, params)); err != nil {
		c.t.Fatal(err)
	}
}

// read gives the next line, which must be JSON-RPC like every line of a server.
func (c *conn) read() reply {
	c.t.Helper()
	line, err := c.lines.ReadString('\n')
	if err != nil {
		c.t.Fatalf("the server's line: %q, %v", line, err)
	}
	return replies(c.t, line)[0]
}

// tool calls a tool; meta is the _meta of the call, or empty.
func (c *conn) tool(name, args, meta string) (texts []string, isError bool) {
	c.t.Helper()
	if meta != "" {
		meta = `,"_meta":` + meta
	}
	c.write("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s%s}`, name, args, meta))
	r := c.read()
	if r.ID == nil || *r.ID != c.id {
		c.t.Fatalf("%s: answered out of turn: %+v", name, r)
	}
	return r.texts(c.t)
}

func (c *conn) close() {
	c.t.Helper()
	c.in.Close()
	if err := <-c.ended; err != nil {
		c.t.Errorf("serve: %v", err)
	}
}

// texts gives what an answer to tools/call says.
func (r reply) texts(t *testing.T) (texts []string, isError bool) {
	t.Helper()
	if r.Error != nil {
		return []string{r.Error.Message}, true
	}
	var result struct {
		IsError bool
		Content []struct{ Type, Text string }
	}
	if err := json.Unmarshal(r.Result, &result); err != nil {
		t.Fatal(err)
	}
	for _, part := range result.Content {
		if part.Type != "text" {
			t.Errorf("content of type %q", part.Type)
		}
		texts = append(texts, part.Text)
	}
	return texts, result.IsError
}

// shape describes JSON by the names and types of its fields; of an array, by its first element.
func shape(v any) string {
	switch v := v.(type) {
	case map[string]any:
		var fields []string
		for name, value := range v {
			fields = append(fields, name+":"+shape(value))
		}
		slices.Sort(fields)
		return "{" + strings.Join(fields, " ") + "}"
	case []any:
		if len(v) == 0 {
			return "[]"
		}
		return "[" + shape(v[0]) + "]"
	case string:
		return "text"
	case nil:
		return "null"
	}
	return strings.TrimSuffix(fmt.Sprintf("%T", v), "64") // bool, float
}

// calls reads testdata/calls.txt: calls of every tool, in an order in which all of them work, and
// under each the shape of its answer. A tool without a call is called with an example of each
// argument that it must have, and -update adds the call to the file.
func calls(t *testing.T) (all []toolCall) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "calls.txt"))
	if err != nil {
		t.Fatal(err)
	}
	called := map[string]bool{}
	for pair := range slices.Chunk(strings.Split(strings.TrimSpace(string(text)), "\n"), 2) {
		name, args, _ := strings.Cut(pair[0], " ")
		all, called[name] = append(all, toolCall{name, args}), true
	}
	for _, tool := range tools.Catalog() {
		if !called[tool.Name] {
			all = append(all, toolCall{tool.Name, exampleOf(t, tool)})
		}
	}
	return all
}

type toolCall struct{ tool, args string }

func exampleOf(t *testing.T, tool tools.Tool) string {
	t.Helper()
	var schema struct {
		Properties map[string]struct {
			Type string
			Enum []string
		}
		Required []string
	}
	if err := json.Unmarshal(tool.Listed().RawInputSchema, &schema); err != nil {
		t.Fatal(err)
	}
	args := map[string]any{}
	for _, name := range schema.Required {
		p := schema.Properties[name]
		args[name] = map[string]any{"string": append(p.Enum, "birch")[0], "integer": 1, "number": 1, "boolean": true, "array": []string{"/birch"}}[p.Type]
	}
	text, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Every tool is called; the fields are the OCaml c2c's (its MCP tools), and ours beside them.
func TestAnswersHaveTheFieldsOfTheOriginalAndMore(t *testing.T) {
	amber, birch := pair(t)
	coral := birch
	coral.thread = "thread-2"
	coral.want("register", `{"alias":"coral"}`)
	c := dial(t, amber.config(), "claude-code")
	defer c.close()
	question, record := "", ""
	for _, tc := range calls(t) {
		if tc.tool == "peek_inbox" && question == "" {
			question = fields(t, birch.want("send", `{"to_alias":"amber","content":"hi","kind":"question"}`))["message_id"].(string)
		}
		texts, isError := c.tool(tc.tool, strings.ReplaceAll(tc.args, "QUESTION", question), "")
		got := texts[0]
		var v any
		if json.Unmarshal([]byte(got), &v) == nil {
			// A lock that birch's server has left is closed some day: until then it is alive.
			got = strings.NewReplacer(" known_by:text", "", " do:text", "").Replace(shape(v))
		}
		if isError || len(texts) != 1 {
			t.Errorf("%s %s: error %v, %q; testdata/calls.txt needs a call that works", tc.tool, tc.args, isError, texts)
		}
		record += tc.tool + " " + tc.args + "\n\t" + got + "\n"
	}
	golden(t, "calls.txt", []byte(record))
}

// Others find the alias before the session has called a tool, as the OCaml c2c has it.
func TestTheOriginalsAliasIsRegisteredAtOnce(t *testing.T) {
	amber, _ := pair(t)
	gem := testClient{t: t, root: amber.root, env: map[string]string{"C2C_MCP_AUTO_REGISTER_ALIAS": "coral"}}
	cfg := gem.config()
	cfg.PID = os.Getpid()
	c := dial(t, cfg, "gem")
	defer c.close()
	amber.want("send", `{"to_alias":"coral","content":"for coral"}`)
	if texts, isError := c.tool("poll_inbox", `{}`, ""); isError || !strings.Contains(texts[0], "for coral") {
		t.Errorf("coral polled %q", texts)
	}
}

func TestThreadsOfOneProcessHaveAMailboxEach(t *testing.T) {
	amber, _ := pair(t)
	cfg := testClient{t: t, root: amber.root}.config()
	c := dial(t, cfg, "codex-mcp-client")
	defer c.close()
	thread := func(id string) string {
		return `{"threadId":"` + id + `","x-codex-turn-metadata":{"session_id":"other"}}`
	}
	for id, alias := range map[string]string{"t1": "coral", "t2": "dune"} {
		if texts, isError := c.tool("register", `{"alias":"`+alias+`"}`, thread(id)); isError || fields(t, texts[0])["alias"] != alias {
			t.Fatalf("register: %q", texts)
		}
	}
	c.tool("send", `{"to_alias":"coral","content":"for coral"}`, thread("t2"))
	amber.want("send", `{"to_alias":"dune","content":"for dune"}`)
	for _, tc := range []struct{ thread, want, not string }{{"t1", "for coral", "for dune"}, {"t2", "for dune", "for coral"}} {
		texts, _ := c.tool("poll_inbox", `{}`, thread(tc.thread))
		if got := texts[0]; !strings.Contains(got, tc.want) || strings.Contains(got, tc.not) {
			t.Errorf("thread %s polled %s", tc.thread, got)
		}
	}
	if got := amber.want("list", `{}`); strings.Count(got, `"session_id"`) != 4 {
		t.Errorf("sessions: %s", got)
	}
}

// A plugin of ours in the client says in an argument which session calls; no tool sees it.
func TestAPluginSaysWhichSessionCalls(t *testing.T) {
	amber, _ := pair(t)
	cfg := testClient{t: t, root: amber.root}.config()
	cfg.PID = os.Getpid()
	b, err := cfg.Open(slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	for _, alias := range []string{"coral", "dune"} {
		if _, err := b.Register(t.Context(), callers.Caller{Client: "opencode", ClientID: "ses-" + alias, PID: cfg.PID}, alias); err != nil {
			t.Fatal(err)
		}
	}
	c := dial(t, cfg, "opencode")
	defer c.close()
	for _, alias := range []string{"coral", "dune", "coral"} {
		if texts, isError := c.tool("whoami", `{"_session_id":"ses-`+alias+`"}`, ""); isError || fields(t, texts[0])["alias"] != alias {
			t.Errorf("session of %s: %q", alias, texts)
		}
	}
	if texts, isError := c.tool("whoami", `{}`, `{"c2c/claim":"ses-coral"}`); !isError {
		t.Errorf("the client claims a session itself: %q", texts)
	}
	if texts, isError := dial(t, cfg, "codex-mcp-client").tool("whoami", `{"_session_id":"ses-coral"}`, ""); !isError {
		t.Errorf("a client without our plugin: %q", texts)
	}
}

// The client's own file says which session its process has now; the environment is as old as the
// server.
func TestAProcessSaysItsSession(t *testing.T) {
	amber, _ := pair(t)
	home := t.TempDir()
	cfg := testClient{t: t, root: amber.root}.config()
	cfg.PID, cfg.Getenv = os.Getpid(), func(name string) string {
		return map[string]string{"QWEN_HOME": home, "QWEN_CODE_SESSION_ID": "s-1"}[name]
	}
	b, err := cfg.Open(slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	for _, alias := range []string{"coral", "dune"} {
		id := map[string]string{"coral": "s-1", "dune": "s-2"}[alias]
		if _, err := b.Register(t.Context(), callers.Caller{Client: "qwen", ClientID: id}, alias); err != nil {
			t.Fatal(err)
		}
	}
	c := dial(t, cfg, "qwen-cli-mcp-client-c2c")
	defer c.close()
	if err := os.Mkdir(filepath.Join(home, "sessions"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, tc := range [][2]string{{"s-2", "dune"}, {"s-1", "coral"}, {"s-2", "dune"}, {"s-3", "dune"}} { // the last is new: /clear
		text := fmt.Sprintf(`{"pid":%d,"sessionId":%q}`, cfg.PID, tc[0])
		if err := os.WriteFile(filepath.Join(home, "sessions", fmt.Sprint(cfg.PID, ".json")), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c.tool("poll_inbox", `{}`, "")
		if got, isError := c.tool("whoami", `{}`, ""); isError || fields(t, got[0])["alias"] != tc[1] {
			t.Errorf("session %s is %s, want %s", tc[0], got, tc[1])
		}
	}
}

// Gemini CLI refuses an answer whose first text is a JSON array, and its model would never see the
// mail in it.
func TestNoAnswerBeginsWithAnArrayForAClientThatRefusesIt(t *testing.T) {
	amber, _ := pair(t)
	cfg := testClient{t: t, root: amber.root, env: amber.env}.config()
	for name, want := range map[string][]string{"gemini-cli-mcp-client": {"c2c:", "[]"}, "somebody": {"[]"}} {
		c := dial(t, cfg, name)
		for _, tool := range []string{"poll_inbox", "peek_inbox", "history"} {
			if got, isError := c.tool(tool, `{}`, ""); isError || !slices.Equal(got, want) {
				t.Errorf("%s answers %s with %q, want %q", tool, name, got, want)
			}
		}
		if got, isError := c.tool("whoami", `{}`, ""); isError || len(got) != 1 {
			t.Errorf("whoami answers %s with %q", name, got)
		}
		c.close()
	}
}

// A name for the caller in the arguments of a call is the model's word, which is no proof.
func TestTheSessionIDOfAnotherIsRefused(t *testing.T) {
	amber, birch := pair(t)
	amber.want("send", `{"to_alias":"birch","content":"for birch"}`)
	for _, tool := range []string{"poll_inbox", "whoami", "register"} {
		birch.refused(tool, `{"session_id":"amber"}`, "not yours")
	}
	stranger := testClient{t: t, root: amber.root, name: "codex-mcp-client", thread: "new"}
	for _, tool := range []string{"poll_inbox", "register"} {
		stranger.refused(tool, `{"session_id":"amber"}`, "not yours")
	}
	if got := birch.want("poll_inbox", `{}`); !strings.Contains(got, "for birch") {
		t.Errorf("birch has %s", got)
	}
	if got := fields(t, birch.want("whoami", `{}`)); got["alias"] != "birch" {
		t.Errorf("whoami %v", got)
	}
}

func TestMailThatAStalledClientDidNotReadIsOfferedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		amber, birch := pair(t)
		amber.want("send", `{"to_alias":"birch","content":"precious","message_id":"m-1"}`)
		status := func(want string) {
			t.Helper()
			if got := fields(t, amber.want("message_status", `{"message_id":"m-1"}`)); got["state"] != want {
				t.Errorf("status %v, want %s", got, want)
			}
		}
		c := dialLimited(t, birch.config(), birch.name, StdioLimits{})
		poll := func() { c.write("tools/call", `{"name":"poll_inbox","arguments":{},"_meta":{"threadId":"thread-1"}}`) }
		poll()
		synctest.Wait()
		status("handed")
		<-time.After(StdioLimits{}.withDefaults().Write + time.Second)
		status("queued")
		for i := range 2 { // the line begun comes late, and then the mail again, with the same id
			if i > 0 {
				poll()
			}
			texts, _ := c.read().texts(t)
			if got := fields(t, texts[0]); got["message_id"] != "m-1" || got["content"] != "precious" {
				t.Errorf("polled %q", texts)
			}
		}
		c.close()
		status("read")
		if got := birch.want("history", `{}`); strings.Count(got, `"m-1"`) != 1 {
			t.Errorf("history %s", got)
		}
	})
}

// What a client was handed is not handed to it again, though the archive cannot be written and
// other mail of the same file waits.
func TestAnAcknowledgementThatIsNotArchivedIsLogged(t *testing.T) {
	amber, birch := pair(t)
	sid, _ := fields(t, birch.want("whoami", `{}`))["session_id"].(string)
	amber.want("send", `{"to_alias":"birch","content":"short"}`)
	amber.want("send", `{"to_alias":"birch","content":"`+strings.Repeat("x", 200_000)+`"}`) // waits for the next call
	if err := os.MkdirAll(filepath.Join(birch.root, "archive", sid+".lock"), 0o700); err != nil {
		t.Fatal(err)
	}
	if got := birch.want("poll_inbox", `{}`); !strings.Contains(got, "short") {
		t.Errorf("polled %s", got)
	}
	log, err := os.ReadFile(filepath.Join(birch.root, "broker.log"))
	if want := `"warning":"acknowledged mail is not archived yet","session":"` + sid + `","err":"`; err != nil || !strings.Contains(string(log), want) {
		t.Errorf("broker.log lacks %s: %s, %v", want, log, err)
	}
	if got := birch.want("poll_inbox", `{}`); strings.Contains(got, "short") || !strings.Contains(got, "xxxx") {
		t.Errorf("polled again %.200s", got)
	}
}

// When neither the archive nor the name of the file can say that mail was handed over, broker.log
// does, and the mail comes again.
func TestAnAcknowledgementThatFailsIsLogged(t *testing.T) {
	amber, birch := pair(t)
	sid, _ := fields(t, birch.want("whoami", `{}`))["session_id"].(string)
	amber.want("send", `{"to_alias":"birch","content":"precious","message_id":"m-1"}`)
	c := dial(t, birch.config(), birch.name)
	defer c.close()
	c.write("tools/call", `{"name":"poll_inbox","arguments":{},"_meta":{"threadId":"`+birch.thread+`"}}`)
	begun := make([]byte, 1)
	if _, err := c.out.Read(begun); err != nil { // the answer is on its way, so the mail is leased
		t.Fatal(err)
	}
	leased, err := filepath.Glob(filepath.Join(birch.root, sid+".lease", "*-poll_inbox.json"))
	if err != nil || len(leased) != 1 {
		t.Fatal(leased, err)
	}
	archived := filepath.Join(birch.root, "archive", sid+".lock")
	done := filepath.Join(filepath.Dir(leased[0]), "done-"+filepath.Base(leased[0]))
	for _, dir := range []string{archived, done} { // where it would open a file, and where it would rename one to
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	c.lines = bufio.NewReader(io.MultiReader(bytes.NewReader(begun), c.out))
	if texts, isError := c.read().texts(t); isError || !strings.Contains(texts[0], "precious") {
		t.Errorf("polled %q", texts)
	}
	c.tool("server_info", `{}`, "") // it is answered behind the acknowledgement
	log, err := os.ReadFile(filepath.Join(birch.root, "broker.log"))
	if want := `"event":"poll_inbox","session_id":"` + sid + `","error":"`; err != nil || !strings.Contains(string(log), want) {
		t.Errorf("broker.log lacks %s: %s, %v", want, log, err)
	}
	for _, dir := range []string{archived, done} {
		if err := os.Remove(dir); err != nil {
			t.Fatal(err)
		}
	}
	if got := birch.want("poll_inbox", `{}`); strings.Count(got, "precious") != 1 {
		t.Errorf("polled again %s", got)
	}
}

func TestArgumentsAreCheckedAgainstTheSchema(t *testing.T) {
	amber, birch := pair(t)
	for _, tc := range []struct{ tool, args, says string }{
		{"send", `{"to_alias":"birch"}`, "content"},
		{"send", `{"to_alias":"birch","content":""}`, "content"},
		{"send", `{"to_alias":7,"content":"x"}`, "to_alias"},
		{"send", `{"to_alias":"birch","content":"x","deferrable":"yes"}`, "deferrable"},
		{"send", `{"to_alias":"birch","content":"x","tag":"loud"}`, "tag"},
		{"send", `{"to_alias":"birch","content":"x","kind":"system"}`, "kind"},
		{"send", `[]`, ""},
		{"send_all", `{"content":"x","exclude_aliases":"birch"}`, "exclude_aliases"},
		{"history", `{"limit":-1}`, "limit"},
		{"tail_log", `{"limit":"many"}`, "limit"},
		{"message_status", `{}`, "the id of the message"},
		{"poll_inbox", `{"all":true}`, "all"},
		{"sweep", `{"grace":"0s"}`, "grace"},
	} {
		amber.refused(tc.tool, tc.args, tc.says)
	}
	if got := birch.want("peek_inbox", `{}`); got != "[]" {
		t.Errorf("a refused call sent %s", got)
	}
}

// A debugger, or Ctrl-Z, has stopped a process that holds a lock: the client gets an answer all the
// same.
func TestAHeldLockIsAnErrorAndNotAHang(t *testing.T) {
	amber, birch := pair(t)
	birch.want("send", `{"to_alias":"amber","content":"one"}`)
	dir, err := atomicfile.Open(amber.root)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	lock, err := atomicfile.Acquire(t.Context(), dir, "amber.inbox.lock")
	if err != nil {
		t.Fatal(err)
	}
	impatient := birch.config()
	impatient.LockWait = time.Millisecond
	c := dial(t, impatient, birch.name)
	defer c.close()
	send := func() ([]string, bool) {
		return c.tool("send", `{"to_alias":"amber","content":"two","message_id":"m-2"}`, `{"threadId":"thread-1"}`)
	}
	if texts, isError := send(); !isError || !strings.Contains(texts[0], "amber.inbox.lock") || !strings.Contains(texts[0], "try again") {
		t.Errorf("error %v, %q", isError, texts)
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	patient := dial(t, birch.config(), birch.name)
	defer patient.close()
	if texts, isError := patient.tool("send", `{"to_alias":"amber","content":"two","message_id":"m-2"}`, `{"threadId":"thread-1"}`); isError {
		t.Errorf("with the lock free: %q", texts)
	}
	if got := amber.want("peek_inbox", `{}`); strings.Count(got, `"two"`) != 1 {
		t.Errorf("amber has %s", got)
	}
}

// What a client would cut is not sent: it comes in parts, or the answer says that there is more.
func TestLongAnswersSayThatThereIsMore(t *testing.T) {
	amber, birch := pair(t)
	body := strings.Repeat("x", 1950)
	for range 8 {
		amber.want("send", `{"to_alias":"birch","content":"`+body+`"}`)
	}
	short := func(tool, says string) {
		t.Helper()
		texts, isError := birch.call(tool, `{}`)
		if isError || len(texts) != 2 || len(texts[0])+len(texts[1]) > 9500 || !json.Valid([]byte(texts[0])) || !strings.Contains(texts[1], says) {
			t.Errorf("%s: error %v, %d texts, the first of %d bytes, %q", tool, isError, len(texts), len(texts[0]), texts[1:])
		}
	}
	short("peek_inbox", "4 messages were left out")
	for range 8 {
		birch.want("poll_inbox", `{}`)
	}
	short("history", "4 messages were left out")
	log, err := amber.config().Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	var all []string
	for i := range 90 {
		all = append(all, fmt.Sprintf(`{"session_id":"s-%d","alias":"a-%d","role":"%s"}`, i, i, strings.Repeat("r", 100)))
	}
	if err := os.WriteFile(filepath.Join(amber.root, "registry.json"), []byte("["+strings.Join(all, ",")+"]"), 0o600); err != nil {
		t.Fatal(err)
	}
	short("list", "were left out: the command c2c list shows all")
	for range 100 {
		log.Events.Write(t.Context(), "noise", "is", strings.Repeat("n", 300))
	}
	short("tail_log", "were left out: older lines")
	if texts, _ := birch.call("tail_log", `{"limit":500}`); !strings.Contains(texts[0], `"tool":"tail_log","ok":true}]`) {
		t.Errorf("the newest line is not there: %s", texts[0][len(texts[0])-100:])
	}
}

func TestALineThatIsNotUTF8IsRefusedAndNotMended(t *testing.T) {
	amber, birch := pair(t)
	c := dial(t, amber.config(), "claude-code")
	defer c.close()
	c.write("tools/call", `{"name":"send","arguments":{"to_alias":"birch","content":"caf`+"\xe9"+`"}}`)
	if r := c.read(); r.Error == nil || !strings.Contains(r.Error.Message, "UTF-8") {
		t.Errorf("answer %+v", r)
	}
	if got := birch.want("peek_inbox", `{}`); got != "[]" {
		t.Errorf("birch has %s", got)
	}
}

// A project's configuration of one client is read by others, too.
func TestWhatAClientSaysOfItselfComesBeforeTheConfiguration(t *testing.T) {
	for info, want := range map[string]string{"claude-code": "claude", "codex-mcp-client": "codex", "gem 2": "gem-2", "": "claude"} {
		if got := tools.ClientName(info, "claude"); got != want {
			t.Errorf("%q in a configuration for claude is %q, want %q", info, got, want)
		}
	}
}
