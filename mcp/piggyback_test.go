package mcp

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"c2c/inbox"
	"c2c/mcp/tools"
)

// mailIn gives the messages that stand behind a result.
func mailIn(t *testing.T, texts []string) (msgs []piece) {
	t.Helper()
	for _, m := range envelope.FindAllStringSubmatch(strings.Join(texts[1:], "\n"), -1) {
		msgs = append(msgs, piece{ID: m[2], From: m[1], Content: m[3]})
	}
	return msgs
}

var envelope = regexp.MustCompile(`<c2c event="message" from="([a-z]*)"[^>]* id="([^"]*)"[^>]*>\n((?s:.*?))\n</c2c>`)

// Both are served by nothing else while their model works: Codex's hooks only announce mail.
func TestTheResultOfEveryToolBringsMailOnce(t *testing.T) {
	for _, name := range []string{"codex-mcp-client", "nobody-knows"} {
		amber, _ := pair(t)
		coral := testClient{t: t, root: amber.root, name: name, env: map[string]string{"C2C_MCP_SESSION_ID": "coral"}}
		if name == "codex-mcp-client" {
			coral.thread = "thread-2"
		}
		coral.want("register", `{"alias":"coral"}`)
		amber.want("send", `{"to_alias":"coral","content":"hi","message_id":"first"}`)
		coral.want("poll_inbox", `{}`)
		args := map[string]string{
			"send": `{"to_alias":"amber","content":"hi"}`, "send_all": `{"content":"hi"}`, "message_status": `{"message_id":"first"}`,
			"reply": `{"message_id":"first","content":"hi"}`, "thread": `{"message_id":"first"}`,
			"notify_when": `{"alias":"amber","when":"done"}`, "look": `{"at":"rooms"}`, "room": `{"name":"review","do":"join"}`,
			"join_room": `{"room_id":"review"}`, "leave_room": `{"room_id":"review"}`, "room_history": `{"room_id":"review"}`,
			"send_room": `{"room_id":"review","content":"hi"}`, "send_room_invite": `{"room_id":"review","invitee_alias":"amber"}`,
			"claim": `{"task":"docs"}`, "whoami": `{}`, "register": `{}`, "me": `{}`, "poll_inbox": `{}`}
		for _, c := range calls(t) {
			if args[c.tool] == "" {
				args[c.tool] = c.args
			}
		}
		for _, tool := range tools.Catalog() {
			id := tool.Name
			if id == tools.ToolAsk {
				continue // it ends when the client hangs up, and leaves other mail
			}
			amber.want("send", `{"to_alias":"coral","content":"<hi> from amber","message_id":"`+id+`"}`)
			texts, isError := coral.call(tool.Name, args[tool.Name])
			got, own := mailIn(t, texts), tool.Name == "poll_inbox" || tool.Name == "peek_inbox"
			switch {
			case isError:
				t.Fatalf("%s %s: %q", name, id, texts)
			case own && len(texts) != 1:
				t.Errorf("%s %s also brings %q", name, id, texts[1:])
			case !own && (len(texts) != 2 || len(got) != 1 || got[0].ID != id || got[0].From != "amber" || got[0].Content != "<hi> from amber"):
				t.Errorf("%s %s brings %q", name, id, texts[1:])
			}
			if !json.Valid([]byte(texts[0])) {
				t.Errorf("%s %s: a program reads %q", name, id, texts[0])
			}
			if again := coral.want("poll_inbox", `{}`); (again == "[]") == (tool.Name == "peek_inbox") {
				t.Errorf("%s %s: then poll_inbox gives %s", name, id, again)
			}
			if got := fields(t, amber.want("message_status", `{"message_id":"`+id+`"}`)); got["state"] != "read" || !own && got["by"] != inbox.ByResult {
				t.Errorf("%s %s: status %v", name, id, got)
			}
		}
	}
}

// Its hook shows the mail after the same call, and knows a subagent, which a call does not tell.
func TestAClientWhoseHookShowsMailGetsNoneWithAResult(t *testing.T) {
	amber, birch := pair(t)
	birch.want("send", `{"to_alias":"amber","content":"for the hook","message_id":"m-1"}`)
	if texts, isError := amber.call("whoami", `{}`); isError || len(texts) != 1 {
		t.Errorf("whoami answers %q", texts)
	}
	if got := fields(t, birch.want("message_status", `{"message_id":"m-1"}`)); got["state"] != "queued" {
		t.Errorf("status %v", got)
	}
}

// A client may show an error otherwise than a result, and a call that it has cancelled gets no
// answer.
func TestACallThatFailsOrIsCancelledLeavesTheMail(t *testing.T) {
	amber, birch := pair(t)
	amber.want("send", `{"to_alias":"birch","content":"precious"}`)
	if texts, isError := birch.call("message_status", `{"message_id":"unknown"}`); !isError || strings.Contains(fmt.Sprint(texts), "precious") {
		t.Errorf("error %v, %q", isError, texts)
	}
	c := dial(t, birch.config(), birch.name)
	defer c.close()
	whoami := `{"name":"whoami","arguments":{},"_meta":{"threadId":"%s"}}`
	c.write("tools/call", fmt.Sprintf(whoami, "thread-2")) // its answer is not read: the next call waits behind it
	c.write("tools/call", fmt.Sprintf(whoami, "thread-1"))
	fmt.Fprintf(c.in, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`+"\n", c.id)
	c.write("ping", `{}`) // answered when the cancellation has been read
	for range 2 {
		if r := c.read(); *r.ID != c.id && *r.ID != c.id-2 {
			t.Errorf("the cancelled call was answered: %s", r.Result)
		}
	}
	if texts, _ := c.tool("list", `{}`, `{"threadId":"thread-1"}`); len(mailIn(t, texts)) != 1 {
		t.Errorf("the next call brings %q", texts[1:])
	}
}

// What the client would cut of the result and the mail together stays.
func TestMailThatDoesNotFitBehindAResultWaits(t *testing.T) {
	amber, birch := pair(t)
	for i := range 6 {
		amber.want("send", fmt.Sprintf(`{"to_alias":"birch","content":"%d%s"}`, i, strings.Repeat("x", 1950)))
	}
	texts, _ := birch.call("whoami", `{}`)
	got := mailIn(t, texts)
	if len(strings.Join(texts, "")) > 9500 || len(got) != 4 || got[0].Content[0] != '0' || texts[2] != "2 more messages wait: call poll_inbox." {
		t.Errorf("%d messages, %q", len(got), texts[2:])
	}
	if n := len(pieces(t, birch.want("poll_inbox", `{}`))); n != 2 {
		t.Errorf("then come %d, want 2", n)
	}
	amber.want("send", `{"to_alias":"birch","content":"`+strings.Repeat("x", 20_000)+`"}`)
	amber.want("send", `{"to_alias":"birch","content":"behind it"}`)
	for range 2 {
		if texts, _ := birch.call("whoami", `{}`); len(texts) != 2 || !strings.Contains(texts[1], "messages wait: call poll_inbox.") {
			t.Errorf("of a long message whoami says %q", texts[1:])
		}
	}
	if got := pieces(t, birch.want("poll_inbox", `{}`)); got[0].Part != 1 {
		t.Errorf("poll_inbox gives %.100v", got)
	}
	if err := os.RemoveAll(birch.root); err != nil {
		t.Fatal(err)
	}
	if texts, isError := birch.call("list", `{}`); isError || len(texts) != 1 {
		t.Errorf("without a root: %q", texts)
	}
}

// The words of a prompt count as its user's.
func TestThePromptHasNoMail(t *testing.T) {
	amber, birch := pair(t)
	amber.want("send", `{"to_alias":"birch","content":"precious"}`)
	c := dial(t, birch.config(), birch.name)
	defer c.close()
	for method, params := range map[string]string{"prompts/list": `{}`, "prompts/get": `{"name":"poll_inbox"}`} {
		c.write(method, params)
		if r := c.read(); !strings.Contains(string(r.Result), "poll_inbox") || strings.Contains(string(r.Result), "precious") {
			t.Errorf("%s: %s, %+v", method, r.Result, r.Error)
		}
	}
	if got := birch.want("poll_inbox", `{}`); !strings.Contains(got, "precious") {
		t.Errorf("birch has %s", got)
	}
}
