package mcp

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// asks begins a call of ask, and returns once the question is stored: then the next call is
// answered.
func (c *conn) asks(args, meta string) (id int) {
	c.t.Helper()
	c.write("tools/call", fmt.Sprintf(`{"name":"ask","arguments":%s%s}`, args, meta))
	id = c.id
	c.tool("whoami", `{}`, "")
	return id
}

// question is the id of the message that waits for a client.
func (c testClient) question() string {
	c.t.Helper()
	return fields(c.t, c.want("poll_inbox", `{}`))["message_id"].(string)
}

func TestAskReturnsTheAnswerWhileOtherCallsGoOn(t *testing.T) {
	amber, birch := pair(t)
	c := dial(t, amber.config(), "claude-code")
	asked := c.asks(`{"to_alias":"birch","content":"what is 6 times 7?","wait_seconds":600}`, "")
	q := birch.question()
	birch.want("send", `{"to_alias":"amber","content":"other mail"}`)
	answer := fields(t, birch.want("reply", `{"message_id":"`+q+`","content":"forty-two"}`))["message_id"].(string)
	r := c.read()
	texts, isError := r.texts(t)
	if got := fields(t, texts[0]); isError || *r.ID != asked || len(texts) != 1 || got["content"] != "forty-two" || got["in_reply_to"] != q || got["from_alias"] != "birch" {
		t.Errorf("answer to %d: %v, %q", *r.ID, isError, texts)
	}
	c.close()
	if st := fields(t, birch.want("message_status", `{"message_id":"`+answer+`"}`)); st["state"] != "read" || st["by"] != "ask" {
		t.Errorf("status %v", st)
	}
	if got := amber.want("poll_inbox", `{}`); strings.Contains(got, "forty-two") || !strings.Contains(got, "other mail") {
		t.Errorf("amber has %s", got)
	}
}

func TestALateAnswerToAskIsMail(t *testing.T) {
	amber, birch := pair(t)
	for name, end := range map[string]func(c *conn, id int){
		"late": func(c *conn, id int) {
			texts, isError := c.read().texts(t)
			if got := fields(t, texts[0]); isError || got["answered"] != false || got["state"] != "queued" || !strings.Contains(got["note"].(string), "comes as mail") {
				t.Errorf("result %v, %q", isError, texts)
			}
		},
		"cancelled": func(c *conn, id int) {
			if _, err := fmt.Fprintf(c.in, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`+"\n", id); err != nil {
				t.Fatal(err)
			}
		},
		"hung up": func(c *conn, id int) {},
	} {
		c := dial(t, amber.config(), "claude-code")
		wait := map[bool]int{true: 1, false: 600}[name == "late"]
		id := c.asks(fmt.Sprintf(`{"to_alias":"birch","content":"one?","wait_seconds":%d}`, wait), "")
		end(c, id)
		c.close()
		birch.want("reply", `{"message_id":"`+birch.question()+`","content":"`+name+`"}`)
		if got := fields(t, amber.want("poll_inbox", `{}`)); got["content"] != name || got["in_reply_to"] == nil {
			t.Errorf("%s: amber has %v", name, got)
		}
	}
}

func TestAnAnswerThatTheClientDoesNotTakeIsMail(t *testing.T) {
	amber, birch := pair(t)
	c := dial(t, amber.config(), "claude-code")
	c.asks(`{"to_alias":"birch","content":"one?","wait_seconds":600}`, "")
	c.out.(io.Closer).Close()
	birch.want("reply", `{"message_id":"`+birch.question()+`","content":"forty-two"}`)
	if err := <-c.ended; err == nil {
		t.Error("the answer was written")
	}
	if got := amber.want("poll_inbox", `{}`); !strings.Contains(got, "forty-two") {
		t.Errorf("amber has %s", got)
	}
}

func TestAnAnswerThatIsTooLongForAResultIsMail(t *testing.T) {
	amber, birch := pair(t)
	c := dial(t, amber.config(), "claude-code")
	c.asks(`{"to_alias":"birch","content":"one?"}`, "")
	birch.want("reply", `{"message_id":"`+birch.question()+`","content":"`+strings.Repeat("x", 50_000)+`"}`)
	texts, isError := c.read().texts(t)
	if isError || !strings.Contains(texts[0], `"answered":true`) || !strings.Contains(texts[0], "call poll_inbox") {
		t.Errorf("%v, %.200q", isError, texts)
	}
	c.close()
	if texts, _ := amber.call("poll_inbox", `{}`); !strings.Contains(texts[0], `"part":1`) {
		t.Errorf("amber has %.200q", texts)
	}
}

func TestTwoWhoWouldWaitForEachOtherAreRefused(t *testing.T) {
	amber, birch := pair(t)
	c := dial(t, amber.config(), "claude-code")
	c.asks(`{"to_alias":"birch","content":"one?"}`, "")
	birch.refused("ask", `{"to_alias":"amber","content":"two?"}`, "amber waits for your answer")
	c.close()
	d := dial(t, birch.config(), "codex-mcp-client")
	d.write("tools/call", `{"name":"ask","arguments":{"to_alias":"amber","content":"three?","wait_seconds":1},"_meta":{"threadId":"thread-1"}}`)
	if texts, isError := d.read().texts(t); isError || !strings.Contains(texts[0], `"answered":false`) {
		t.Errorf("after amber has gone: %v, %q", isError, texts)
	}
	d.close()
}

func TestAClientHearsThatAskGoesOn(t *testing.T) {
	amber, birch := pair(t)
	cfg := amber.config()
	cfg.Progress = time.Millisecond
	c := dial(t, cfg, "claude-code")
	c.write("tools/call", `{"name":"ask","arguments":{"to_alias":"birch","content":"one?"},"_meta":{"progressToken":"t-1"}}`)
	for range 2 {
		r := c.read()
		if r.Method != "notifications/progress" || !strings.Contains(string(r.Params), `"progressToken":"t-1"`) || !strings.Contains(string(r.Params), "birch") {
			t.Fatalf("%+v", r)
		}
	}
	birch.want("reply", `{"message_id":"`+birch.question()+`","content":"forty-two"}`)
	for r := c.read(); ; r = c.read() {
		if r.ID != nil {
			if texts, _ := r.texts(t); !strings.Contains(texts[0], "forty-two") {
				t.Errorf("%q", texts)
			}
			break
		}
	}
	c.close()
}

// Each notification of progress has its token.
func TestAClientWithAHugeTokenHearsOfNoProgress(t *testing.T) {
	amber, birch := pair(t)
	cfg := amber.config()
	cfg.Progress = time.Millisecond
	c := dial(t, cfg, "claude-code")
	c.asks(`{"to_alias":"birch","content":"one?"}`, `,"_meta":{"progressToken":"`+strings.Repeat("x", 1000)+`"}`)
	birch.want("reply", `{"message_id":"`+birch.question()+`","content":"forty-two"}`)
	told := 0
	for r := c.read(); r.ID == nil; r = c.read() {
		told++
	}
	if told > 0 {
		t.Errorf("it is told %d times", told)
	}
	c.close()
}

// A model that is told of a failure would send the question again.
func TestAnAnswerThatCannotBeLookedForIsNoFailureOfAsk(t *testing.T) {
	amber, birch := pair(t)
	c := dial(t, amber.config(), "claude-code")
	c.asks(`{"to_alias":"birch","content":"one?","wait_seconds":600}`, "")
	birch.question()
	err := os.Mkdir(filepath.Join(amber.root, "amber.inbox.json"), 0o700) // in the way of the answer
	var lock *os.File
	if err == nil {
		lock, err = os.OpenFile(filepath.Join(amber.root, "amber.inbox.lock"), os.O_RDWR|os.O_CREATE, 0o600) // who waits looks when it is closed
	}
	if err != nil {
		t.Fatal(err)
	}
	lock.Close()
	texts, isError := c.read().texts(t)
	if got := fields(t, texts[0]); isError || got["answered"] != false || !strings.Contains(got["note"].(string), "do not ask again") {
		t.Errorf("%v, %q", isError, texts)
	}
	c.close()
}
