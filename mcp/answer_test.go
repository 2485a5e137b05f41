package mcp

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"c2c/broker"
)

func TestAnAnswerNamesAMessageByAPartOfItsID(t *testing.T) {
	for _, call := range [][2]string{{"send", "in_reply_to"}, {"reply", "message_id"}} {
		tool, name := call[0], call[1]
		amber, birch := pair(t)
		amber.want("send", `{"to":"birch","content":"what is 6 times 7?","kind":"question"}`)
		id := fields(t, birch.want("peek_inbox", `{}`))["message_id"].(string)
		birch.refused(tool, `{"`+name+`":"`+id[28:]+`"}`, "content")
		birch.refused(tool, `{"`+name+`":"0000aaaa","content":"42"}`, "no such message")
		amber.refused(tool, `{"`+name+`":"`+id+`","content":"42"}`, "your own")
		birch.refused(tool, `{"`+name+`":"`+id+`","content":"42","reason":"x"}`, "reason only for a room")
		sent := fields(t, birch.want(tool, `{"`+name+`":"`+id[28:]+`","content":"42"}`))
		got := fields(t, amber.want("poll_inbox", `{}`))
		if got["content"] != "42" || got["in_reply_to"] != id {
			t.Errorf("amber has %v", got)
		}
		if own, _ := got["message_id"].(string); sent["to_alias"] != "amber" || sent["message_id"] != own[28:] {
			t.Errorf("receipt %v", sent)
		}
	}
}

func TestThreadShowsTheEndOfAConversation(t *testing.T) {
	amber, birch := pair(t)
	amber.want("send", `{"to_alias":"birch","content":"the first","message_id":"q-1"}`)
	long := strings.Repeat("x", 9_000)
	for i := range 6 {
		from, to := birch, "amber"
		if i%2 == 1 {
			from, to = amber, "birch"
		}
		from.want("send", fmt.Sprintf(`{"to_alias":%q,"content":"%d %s","in_reply_to":"q-1"}`, to, i, long))
	}
	texts, isError := amber.call("thread", `{"message_id":"q-1"}`)
	if isError || len(texts[0]) > 40_000 || !strings.Contains(texts[0], `"content":"5 x`) || !strings.Contains(texts[0], `"state":"queued"`) ||
		strings.Contains(texts[0], "the first") || !strings.Contains(texts[len(texts)-1], "3 older messages were left out") {
		t.Errorf("amber has %.100s, %q", texts[0], texts[1:])
	}
	birch.want("poll_inbox", `{}`)
	if texts, _ := birch.call("thread", `{"message_id":"q-1"}`); !strings.Contains(texts[0], `"part":1`) || !strings.Contains(strings.Join(texts, ""), "shows the whole message") {
		t.Errorf("birch has %.100s, %q", texts[0], texts[1:])
	}
}

// What c2c stats counts for a context is what the tools have written there.
func TestTheTextsOfToolsAreCountedAsWritten(t *testing.T) {
	amber, birch := pair(t) // birch is a Codex: the result of any tool brings its mail
	bodies := []string{"one", "two <b> \"quoted\"\nand a line"}
	for _, body := range bodies {
		amber.want("send", fmt.Sprintf(`{"to":"birch","content":%q}`, body))
	}
	texts, _ := birch.call("list", `{}`)
	written := len(texts[len(texts)-1])
	for _, body := range bodies {
		birch.want("send", fmt.Sprintf(`{"to":"amber","content":%q}`, body))
	}
	written += len(amber.want("poll_inbox", `{}`))
	b, err := broker.Open(broker.Config{Root: amber.root})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	costs, err := b.Costs(t.Context(), time.Now().Add(-time.Hour))
	if err != nil || costs.Total.Handed != 4 || costs.Total.Context != int64(written) {
		t.Errorf("%+v, %v; the tools have written %d bytes: %q", costs.Total, err, written, texts)
	}
}
