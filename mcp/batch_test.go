package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"

	"c2c/mcp/rpc"
	"c2c/mcp/tools"
)

// bunch is a batch of messages.
func bunch(messages ...string) string {
	for i, m := range messages {
		messages[i] = strings.TrimSpace(m)
	}
	return "[" + strings.Join(messages, ", ") + "]"
}

const note = `{"jsonrpc":"2.0","method":"notifications/whatever"}`

// batches are those that are taken under 2025-03-26, with the ids and error codes of their answers; none: nothing is answered.
func batches() []struct{ name, batch, want string } {
	return []struct{ name, batch, want string }{
		{"one", bunch(rpcMessage(7, "ping", "")), "7"},
		{"several", bunch(rpcMessage(7, "ping", ""), note, call(8), `{"jsonrpc":"2.0","id":1,"result":{}}`, rpcMessage(9, "nope", "")), "7 8 9:-32601"},
		{"notifications", bunch(note, note), ""},
		{"answers to nothing", bunch(`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":2,"error":{"code":1,"message":"x"}}`), ""},
		{"no messages", bunch(`42`, `[]`, rpcMessage(7, "ping", ""), `{"jsonrpc":"2.0","id":{},"method":"ping"}`), "null:-32600 null:-32600 7 null:-32600"},
		{"initialize", bunch(initialize(6, rpc.BatchVersion), rpcMessage(7, "ping", "")), "6:-32600 7"},
		{"as many as may be", bunch(strings.Split(strings.Repeat(note+"\n", rpc.MaxBatch), "\n")[:rpc.MaxBatch]...), ""},
		{"white space before", " \t " + bunch(rpcMessage(7, "ping", "")), "7"},
	}
}

// answersOf gives the ids of the answers of a batch, each with its error.
func answersOf(t *testing.T, text string) string {
	t.Helper()
	if text == "" {
		return ""
	}
	var all []struct {
		ID    json.RawMessage
		Error *struct{ Code int }
	}
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		t.Fatalf("no array of answers: %s", text)
	}
	var some []string
	for _, one := range all {
		says := string(one.ID)
		if one.Error != nil {
			says += fmt.Sprintf(":%d", one.Error.Code)
		}
		some = append(some, says)
	}
	return strings.Join(some, " ")
}

// refusedBatches are those that are refused as a whole.
func refusedBatches() map[string]string {
	return map[string]string{
		"empty":    "[]",
		"too many": bunch(strings.Split(strings.Repeat(note+"\n", rpc.MaxBatch+1), "\n")[:rpc.MaxBatch+1]...),
	}
}

func TestABatchIsAnsweredByAnArray(t *testing.T) {
	l := newHTTPLab(t, HTTPLimits{})
	l.script(answering("hi"))
	c := l.dialAs("one", 0, rpc.BatchVersion)
	for _, tc := range batches() {
		var out bytes.Buffer
		in := initialize(0, rpc.BatchVersion) + tc.batch + "\n"
		if err := Serve(t.Context(), strings.NewReader(in), &out, scripted(answering("hi")), patient); err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(out.String(), "\n")
		if got := answersOf(t, rest); got != tc.want || strings.Count(rest, "\n") > 1 {
			t.Errorf("stdio, %s: answers %q, want %q: %s", tc.name, got, tc.want, rest)
		}
		resp := c.post(tc.batch)
		body, status := drain(t, resp), http.StatusOK
		if tc.want == "" {
			status = http.StatusAccepted
		}
		if got := answersOf(t, body); got != tc.want || resp.StatusCode != status {
			t.Errorf("HTTP, %s: %s, answers %q, want %q: %s", tc.name, resp.Status, got, tc.want, body)
		}
	}
	for name, batch := range refusedBatches() {
		got := exchange(t, scripted(answering("hi")), initialize(0, rpc.BatchVersion)+batch+"\n")
		if len(got) != 2 || got[1].Error == nil || got[1].Error.Code != mcp.INVALID_REQUEST {
			t.Errorf("stdio, %s: %+v", name, got)
		}
		if resp := c.post(batch); resp.StatusCode != http.StatusBadRequest || !strings.Contains(drain(t, resp), "-32600") {
			t.Errorf("HTTP, %s: %s", name, resp.Status)
		}
	}
}

func TestOtherRevisionsHaveNoBatches(t *testing.T) {
	batch := bunch(call(7), note)
	srv := scripted(func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		t.Error("the tool was called")
		return mcp.NewToolResultText("no"), nil
	})
	l := newHTTPLab(t, HTTPLimits{})
	l.h.srv = srv
	for _, version := range []string{"2024-11-05", "2025-06-18", newest} {
		got := exchange(t, srv, initialize(0, version)+batch+"\n")
		if len(got) != 2 || got[1].ID != nil || got[1].Error == nil || got[1].Error.Code != mcp.INVALID_REQUEST {
			t.Errorf("stdio, %s: %+v", version, got)
		}
		resp := l.dialAs("one", 0, version).post(batch)
		if body := drain(t, resp); resp.StatusCode != http.StatusBadRequest || !strings.Contains(body, "-32600") || !strings.Contains(body, version) {
			t.Errorf("HTTP, %s: %s, %s", version, resp.Status, body)
		}
	}
	if got := exchange(t, srv, batch+"\n"); len(got) != 1 || got[0].Error == nil || got[0].Error.Code != mcp.INVALID_REQUEST {
		t.Errorf("stdio, before initialize: %+v", got)
	}
	c := l.dialAs("one", 0, rpc.BatchVersion)
	for _, header := range []string{"2025-06-18", newest, "2026-07-28"} {
		if resp := c.post(batch, mcp.HeaderProtocolVersion, header); resp.StatusCode != http.StatusBadRequest || !strings.Contains(drain(t, resp), "-32600") {
			t.Errorf("under %s: %s", header, resp.Status)
		}
	}
	c.id = ""
	if resp := c.post(batch); resp.StatusCode != http.StatusBadRequest {
		t.Errorf("without a session: %s", resp.Status)
	}
}

func TestABatchIsHandledInItsOrderAndSettledAsAWhole(t *testing.T) {
	var order []string
	settled := map[string]error{}
	srv := scripted(func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		n := r.GetString("n", "")
		order = append(order, n)
		tools.OnWritten(ctx, func(err error) { settled[n] = err; order = append(order, "settled "+n) })
		return mcp.NewToolResultText(n), nil
	})
	do := func(id int, n string) string {
		return rpcMessage(id, "tools/call", `{"name":"t","arguments":{"n":"`+n+`"}}`)
	}
	cancels := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`
	batch := bunch(do(1, "a"), do(2, "b"), cancels, do(3, "c"))
	var out bytes.Buffer
	if err := Serve(t.Context(), strings.NewReader(initialize(0, rpc.BatchVersion)+batch+"\n"+do(4, "d")), &out, srv, patient); err != nil {
		t.Fatal(err)
	}
	const want = "a, c, settled a, settled c, d, settled d"
	if got := strings.Join(order, ", "); got != want || settled["a"] != nil {
		t.Errorf("stdio: %s, %v", got, settled)
	}
	if got := answersOf(t, strings.Split(out.String(), "\n")[1]); got != "1 3" {
		t.Errorf("stdio: answered %s", &out)
	}
	order, settled = nil, map[string]error{}
	l := newHTTPLab(t, HTTPLimits{})
	l.h.srv = srv
	c := l.dialAs("one", 0, rpc.BatchVersion)
	if got := answersOf(t, drain(t, c.post(batch))); got != "1 3" {
		t.Errorf("HTTP: answered %s", got)
	}
	c.post(do(4, "d"))
	if got := strings.Join(order, ", "); got != want || settled["a"] != nil {
		t.Errorf("HTTP: %s, %v", got, settled)
	}
}

// What a batch hands over is read when the client has the whole answer, and waits otherwise.
func TestMailInABatchIsReadWithTheWholeAnswer(t *testing.T) {
	l := newHTTPLab(t, HTTPLimits{})
	amber, birch := l.dial("one", 0), l.dialAs("two", 0, rpc.BatchVersion)
	amber.want("register", `{"alias":"amber"}`)
	birch.want("register", `{"alias":"birch"}`)
	amber.want("send", `{"to_alias":"birch","content":"precious","message_id":"m-1"}`)
	release := make(chan bool)
	started := make(chan bool)
	l.h.srv.AddTool(mcp.NewTool("t"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		started <- true
		<-release
		return mcp.NewToolResultText("late"), nil
	})
	batch := bunch(birch.message("poll_inbox", `{}`), birch.message("poll_inbox", `{}`), call(99))
	conn := birch.raw(0)
	conn.send(birch.request(http.MethodPost, batch, watchHeader, "1"))
	<-started
	amber.wantState("m-1", "handed")
	conn.reset()
	release <- true
	<-l.over
	amber.wantState("m-1", "queued")
	resp := make(chan string)
	go func() {
		r, err := birch.client.Do(birch.request(http.MethodPost, batch))
		if err != nil {
			t.Error(err)
			resp <- ""
			return
		}
		body, _ := io.ReadAll(r.Body)
		r.Body.Close()
		resp <- string(body)
	}()
	<-started
	amber.wantState("m-1", "handed")
	release <- true
	if got := <-resp; strings.Count(got, "precious") != 1 || !strings.Contains(got, "late") {
		t.Errorf("%s", got)
	}
	birch.want("whoami", `{}`) // its turn comes when the batch is settled
	amber.wantState("m-1", "read")
}

// A call that waits for somebody else lets other POSTs have their turn, and the next call of its batch waits.
func TestACallOfABatchStepsAside(t *testing.T) {
	l := newHTTPLab(t, HTTPLimits{})
	steps, release := make(chan bool), make(chan bool)
	l.script(func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if r.GetString("n", "") == "wait" {
			tools.YieldTurn(ctx)
			steps <- true
			<-release
		}
		return mcp.NewToolResultText("ok"), nil
	})
	c := l.dialAs("one", 0, rpc.BatchVersion)
	answer := make(chan string)
	req := c.request(http.MethodPost, bunch(rpcMessage(1, "tools/call", `{"name":"t","arguments":{"n":"wait"}}`), call(2)), watchHeader, "1")
	go func() {
		r, err := c.client.Do(req)
		if err != nil {
			t.Error(err)
			answer <- ""
			return
		}
		body, _ := io.ReadAll(r.Body)
		r.Body.Close()
		answer <- string(body)
	}()
	<-steps
	if got := drain(t, c.post(call(3))); !strings.Contains(got, `"id":3`) {
		t.Errorf("beside it: %s", got)
	}
	close(release)
	if got := answersOf(t, <-answer); got != "1 2" {
		t.Errorf("answered %s", got)
	}
	<-c.over
	if s := l.h.sessions.known(c.id); len(s.turns.gate) > 0 || s.turns.waiting != 0 {
		t.Errorf("%d in the gate, %d wait", len(s.turns.gate), s.turns.waiting)
	}
}

// ids are those that a client may use, and their bytes come back.
var ids = []string{"0", "-1", "9007199254740993", "-9223372036854775809", "18446744073709551616", "1.50", "1e3", "-0.5", `"007"`, `"9007199254740993"`, `""`, `"a\u00e9"`, `"a\"b"`}

func TestAnIDComesBackOverHTTPAsItWas(t *testing.T) {
	l := newHTTPLab(t, HTTPLimits{})
	for _, version := range []string{rpc.BatchVersion, "2025-06-18", newest, "2026-07-28"} {
		c := l.dialAs("one", 0, newest)
		meta, header := "", []string{}
		if version == "2026-07-28" {
			c.id, meta = "", `"_meta":{"`+mcp.MetaKeyProtocolVersion+`":"2026-07-28","`+mcp.MetaKeyClientInfo+`":{"name":"new","version":"0"},"`+mcp.MetaKeyClientCapabilities+`":{}},`
			header = []string{mcp.HeaderProtocolVersion, version, "Mcp-Method", "tools/call", "Mcp-Name", "list", "Accept", "application/json, text/event-stream"}
		}
		for _, id := range ids {
			resp := c.post(`{"params":{`+meta+`"name":"list","arguments":{}},"jsonrpc":"2.0", "id" : `+id+` ,"method":"tools/call"}`, header...)
			if body := drain(t, resp); !strings.Contains(body, `"id":`+id+`,`) && !strings.Contains(body, `"id":`+id+`}`) {
				t.Errorf("%s, %s: %s, %s", version, id, resp.Status, body)
			}
		}
		resp := c.post(`{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{`+meta+`"name":"list","arguments":{}}}`, header...)
		if body := drain(t, resp); resp.StatusCode != http.StatusBadRequest || !strings.Contains(body, `"id":null`) {
			t.Errorf("%s, null: %s, %s", version, resp.Status, body)
		}
	}
}

// Other mail that is read between two parts of a long message does not have it begin again.
func TestALongMessageGoesOnBehindABatch(t *testing.T) {
	l := newHTTPLab(t, HTTPLimits{})
	amber, birch := l.dial("one", 0), l.dialAs("two", 0, rpc.BatchVersion)
	amber.want("register", `{"alias":"amber"}`)
	birch.want("register", `{"alias":"birch"}`)
	amber.want("send", fmt.Sprintf(`{"to_alias":"birch","content":%q}`, strings.Repeat("long ", 20_000)))
	for i := 1; i <= 3; i++ {
		amber.want("send", `{"to_alias":"birch","content":"short"}`)
		resp, err := birch.client.Do(birch.request(http.MethodPost, bunch(birch.message("poll_inbox", `{}`), birch.message("poll_inbox", `{}`))))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if got, part := string(body), fmt.Sprintf("This is part %d of", i); err != nil || !strings.Contains(got, part) || !strings.Contains(got, "short") {
			t.Errorf("no %q and the short one in %.300s, %v", part, got, err)
		}
		birch.want("whoami", `{}`) // its turn comes when the batch is settled
	}
}
