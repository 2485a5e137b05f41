package mcp

import (
	"fmt"
	"strings"
	"testing"
)

func TestReplyAnswersAMessageByAPartOfItsID(t *testing.T) {
	amber, birch := pair(t)
	id := fields(t, amber.want("send", `{"to_alias":"birch","content":"what is 6 times 7?","kind":"question"}`))["message_id"].(string)
	birch.refused("reply", `{"message_id":"`+id[28:]+`"}`, "content")
	birch.refused("reply", `{"message_id":"0000aaaa","content":"42"}`, "no such message")
	amber.refused("reply", `{"message_id":"`+id+`","content":"42"}`, "your own")
	sent := fields(t, birch.want("reply", `{"message_id":"`+id[28:]+`","content":"42"}`))
	if sent["to_alias"] != "amber" || sent["in_reply_to"] != id || sent["message_id"] == id {
		t.Errorf("receipt %v", sent)
	}
	if got := fields(t, amber.want("poll_inbox", `{}`)); got["content"] != "42" || got["in_reply_to"] != id {
		t.Errorf("amber has %v", got)
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
