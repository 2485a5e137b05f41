package mcp

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/mcp/tools"
	"c2c/sessions/callers"
)

// piece is a message, or a part of one, as an answer shows it.
type piece struct {
	ID          string `json:"message_id"`
	From        string `json:"from_alias"`
	Content     string
	Part, Parts int
}

func pieces(t *testing.T, text string) (all []piece) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		t.Fatalf("%v in %.200s", err, text)
	}
	return all
}

// Each client gets a long message in parts that its models pass on whole, and has read it with the
// last.
func TestALongMessageComesInNumberedParts(t *testing.T) {
	body := strings.Repeat("\"quoted\"\t<\u4e2d\U0001F600>\n\x01", 3_000)
	for name, tc := range map[string]struct {
		most int
		env  map[string]string
	}{
		"claude-code":      {most: 40_000},
		"claude-code 2":    {most: 6_000, env: map[string]string{"MAX_MCP_OUTPUT_TOKENS": "3000"}},
		"codex-mcp-client": {most: 9_500},
		"nobody-knows":     {most: 8_000},
	} {
		t.Run(name, func(t *testing.T) {
			amber, _ := pair(t)
			env := map[string]string{"C2C_MCP_SESSION_ID": "coral"}
			for k, v := range tc.env {
				env[k] = v
			}
			coral := testClient{t: t, root: amber.root, name: name, env: env}
			coral.want("register", `{"alias":"coral"}`)
			quoted, _ := json.Marshal(body)
			amber.want("send", fmt.Sprintf(`{"to_alias":"coral","content":%s,"message_id":"m-1"}`, quoted))
			amber.want("send", `{"to_alias":"coral","content":"behind it","message_id":"m-2"}`)
			state := func(c *conn, want string) {
				t.Helper()
				if c != nil {
					c.tool("peek_inbox", `{}`, "") // an answer is accounted for before the next call
				}
				if got := fields(t, amber.want("message_status", `{"message_id":"m-1"}`)); got["state"] != want {
					t.Errorf("status %v, want %s", got, want)
				}
			}
			poll := func(c *conn) piece {
				t.Helper()
				texts, isError := c.tool("poll_inbox", `{}`, "")
				all := pieces(t, texts[0])
				if isError || len(strings.Join(texts, "")) > tc.most || len(all) != 1 || all[0].From != "amber" {
					t.Fatalf("error %v, %d bytes, %d messages, %.100q", isError, len(strings.Join(texts, "")), len(all), texts)
				}
				p := all[0]
				if p.Parts > 0 && !strings.Contains(texts[1], fmt.Sprintf("part %d of %d", p.Part, p.Parts)) {
					t.Errorf("part %d of %d says %q", p.Part, p.Parts, texts[1:])
				}
				return p
			}
			killed := dial(t, coral.config(), name)
			if p := poll(killed); p.Part != 1 || p.Parts < 2 {
				t.Errorf("part %d of %d comes first", p.Part, p.Parts)
			}
			killed.close()
			state(nil, "handed")
			c := dial(t, coral.config(), name)
			defer c.close()
			got := ""
			for n := 1; ; n++ {
				p := poll(c)
				if got += p.Content; p.Part != n {
					t.Fatalf("part %d comes as number %d", p.Part, n)
				}
				if p.Part == p.Parts {
					break
				}
			}
			state(c, "read")
			if got != body {
				t.Errorf("%d bytes came of %d", len(got), len(body))
			}
			if p := poll(c); p.Content != "behind it" {
				t.Errorf("then came %.100q", p.Content)
			}
		})
	}
}

// Others may read a message between two of its parts.
func TestAPartOfAnotherMessageBeginsAtTheFirst(t *testing.T) {
	amber, birch := pair(t)
	c := dial(t, birch.config(), birch.name)
	defer c.close()
	poll := func() (piece, string) {
		texts, _ := c.tool("poll_inbox", `{}`, `{"threadId":"thread-1"}`)
		return pieces(t, texts[0])[0], strings.Join(texts[1:], " ")
	}
	amber.want("send", `{"to_alias":"birch","content":"`+strings.Repeat("x", 30_000)+`","message_id":"m-1"}`)
	poll()
	c.tool("whoami", `{}`, `{"threadId":"thread-1"}`) // a call is taken when the mail of the one before was given back
	for range 3 {
		birch.want("poll_inbox", `{}`) // each a server of its own
	}
	hand, err := birch.config().Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer hand.Close()
	sessions, err := hand.Sessions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sessions {
		box, err := hand.Mailbox(s.ID)
		if err != nil {
			t.Fatal(err)
		}
		l, err := box.Lease(t.Context(), "test", 1<<30)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Ack(t.Context(), inbox.Handles(l.Messages)...); err != nil {
			t.Fatal(err)
		}
	}
	amber.want("send", `{"to_alias":"birch","content":"`+strings.Repeat("y", 30_000)+`","message_id":"m-2"}`)
	if p, says := poll(); p.Part != 1 || !strings.HasPrefix(p.Content, "y") {
		t.Errorf("part %d of %.10s, %s", p.Part, p.Content, says)
	}
}

// After /clear the model has no part of a message any more.
func TestANewConversationGetsAMessageFromItsFirstPart(t *testing.T) {
	amber, birch := pair(t)
	c := dial(t, amber.config(), amber.name)
	defer c.close()
	birch.want("send", `{"to_alias":"amber","content":"`+strings.Repeat("x", 180_000)+`"}`)
	hand, err := amber.config().Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer hand.Close()
	for _, step := range []struct {
		conversation string
		part         int
	}{{"first", 1}, {"first", 2}, {"second", 1}, {"second", 2}} {
		if _, err := hand.Attach(t.Context(), callers.Caller{Explicit: "amber", Client: "claude", ClientID: step.conversation}); err != nil {
			t.Fatal(err)
		}
		texts, _ := c.tool("poll_inbox", `{}`, "")
		if p := pieces(t, texts[0])[0]; p.Part != step.part {
			t.Errorf("the %s conversation gets part %d, want %d", step.conversation, p.Part, step.part)
		}
		c.tool("whoami", `{}`, "") // a call is taken when the mail of the one before was given back
	}
}

// A file written by hand may hold fields of any size.
func TestHostileFieldsStayWithinTheAnswer(t *testing.T) {
	amber, birch := pair(t)
	huge := strings.Repeat(`\u0001<`, 50_000)
	message := fmt.Sprintf(`{"from_alias":"%[1]s","to_alias":"%[1]s","content":"","ts":1.5,"message_id":"%[1]s","kind":"%[1]s","future":"%[1]s"}`, huge)
	if err := os.WriteFile(filepath.Join(amber.root, "amber.inbox.json"), []byte("["+message+"]"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tool := range []string{"peek_inbox", "poll_inbox", "history"} {
		texts, isError := amber.call(tool, `{}`)
		if n := len(strings.Join(texts, "")); isError || n > 40_000 || len(pieces(t, texts[0])) != 1 {
			t.Errorf("%s: error %v, %d bytes", tool, isError, n)
		}
	}
	birch.want("list", `{}`)
}

func TestADamagedMailboxIsToldToTheModel(t *testing.T) {
	amber, birch := pair(t)
	torn := "[\n" + `{"from_alias":"birch","to_alias":"amber","content":"hello","ts":1.5},` + "\n" + `{"from_`
	path := filepath.Join(amber.root, "amber.inbox.json")
	if err := os.WriteFile(path, []byte(torn), 0o600); err != nil {
		t.Fatal(err)
	}
	// The sender repairs it.
	texts, _ := birch.call("send", `{"to_alias":"amber","content":"second"}`)
	if len(texts) != 2 || !strings.Contains(texts[0], `"queued":true`) || !strings.Contains(texts[1], "amber.inbox.json.corrupt-") {
		t.Errorf("send: %q", texts)
	}
	if texts, _ := amber.call("poll_inbox", `{}`); !strings.Contains(texts[0], "hello") || !strings.Contains(texts[0], "second") {
		t.Errorf("%q", texts)
	}
	// Or the reader.
	if err := os.WriteFile(path, []byte(torn), 0o600); err != nil {
		t.Fatal(err)
	}
	c := dial(t, amber.config(), amber.name)
	defer c.close()
	said := ""
	for range 2 {
		texts, _ := c.tool("poll_inbox", `{}`, "")
		said += strings.Join(texts, " ")
	}
	if !strings.Contains(said, "hello") || !strings.Contains(said, ".corrupt-") {
		t.Errorf("poll_inbox: %q", said)
	}
}

// A list has half an answer for a message: then its other fields must leave room for its content.
func TestPartsFitASmallRoom(t *testing.T) {
	long := strings.Repeat("x", 1000)
	for _, room := range []int{750, 500, 400} {
		m := mail.Message{From: long, To: long, ID: long, Kind: long, InReplyTo: long, Tag: long, Content: strings.Repeat("word ", 200)}
		all := tools.Parts(m, room)
		for _, p := range all {
			if one, _ := tools.ToJSON(p); len(one) > room {
				t.Fatalf("room %d: a part of %d bytes", room, len(one))
			}
		}
		if most := 1000/(room/4) + 1; len(all) > most {
			t.Errorf("room %d: %d parts, at most %d are needed", room, len(all), most)
		}
	}
	const id = "019a0b1c-2d3e-7f40-8a9b-0c1d2e3f4a5b"
	if all := tools.Parts(mail.Message{From: "amber", To: "birch", ID: id, InReplyTo: id, Content: long}, 750); all[0].ID != id || all[0].InReplyTo != id || all[0].From != "amber" {
		t.Errorf("%+v", all[0])
	}
}

func FuzzParts(f *testing.F) {
	f.Add("amber", strings.Repeat("\x01\"\U0001F600", 3000), 1500)
	f.Fuzz(func(t *testing.T, from, content string, room int) {
		room = 1500 + max(room, 0)%10_000
		got := ""
		all := tools.Parts(mail.Message{From: from, To: from, Content: content, ID: from}, room)
		for i, p := range all {
			one, err := tools.ToJSON(p)
			if err != nil || len(one) > room || p.N != i+1 || p.Of != len(all) {
				t.Fatalf("part %d of %d has %d bytes of %d, %v", p.N, p.Of, len(one), room, err)
			}
			got += p.Content
		}
		if got != content {
			t.Errorf("%q became %q", content, got)
		}
	})
}
