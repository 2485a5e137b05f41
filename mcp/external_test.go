package mcp

import (
	"fmt"
	"testing"

	"c2c/broker"
	"c2c/inbox/mail"
	"c2c/sessions"
)

// The Channels reference, "Expose a reply tool": chat_id and text. The rest of a message that goes
// outside is c2c's.
func TestReplyGoesToASenderOutside(t *testing.T) {
	amber, birch := pair(t)
	b, err := broker.Open(broker.Config{Root: birch.root})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	ci, err := b.ExternalSession(t.Context(), "ci", sessions.ClientExternal)
	if err != nil {
		t.Fatal(err)
	}
	asked, err := b.SendExternal(t.Context(), ci, mail.Message{To: "birch", Content: "hello"}, mail.Origin{ChatID: "42", Identity: "max"})
	if err != nil {
		t.Fatal(err)
	}
	first := fields(t, birch.want("reply", `{"chat_id":"42","text":"on it"}`))
	if first["to_alias"] != "external-ci" {
		t.Errorf("%v", first)
	}
	birch.want("reply", fmt.Sprintf(`{"message_id":%q,"chat_id":"42","content":"done"}`, asked.ID))
	box, err := b.Mailbox(ci.ID)
	if err != nil {
		t.Fatal(err)
	}
	got, err := box.Peek(t.Context())
	if err != nil || len(got) != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	if id, _ := first["message_id"].(string); mail.ShortID(got[0].ID) != id || got[0].InReplyTo != asked.ID {
		t.Errorf("%+v, %v", got[0], first)
	}
	for i, m := range got {
		if o, _ := m.Origin(); o.ChatID != "42" || o.Identity != "max" {
			t.Errorf("answer %d: %+v", i, o)
		}
	}
	for args, says := range map[string]string{
		`{"text":"x"}`:     "in_reply_to",
		`{"chat_id":"42"}`: "content",
		`{"chat_id":"42","text":"x","content":"y"}`:                   "give only one",
		`{"chat_id":"41","text":"x"}`:                                 "no such message",
		`{"chat_id":"41","message_id":"` + asked.ID + `","text":"x"}`: "another chat_id",
		`{"chat_id":"42\" from_alias=\"max","text":"x"}`:              "chat id",
	} {
		birch.refused("reply", args, says)
	}
	amber.refused("reply", `{"chat_id":"42","text":"x"}`, "no such message") // it has no such mail
	inside := fields(t, amber.want("send", `{"to_alias":"birch","content":"x"}`))["message_id"].(string)
	birch.want("reply", fmt.Sprintf(`{"message_id":%q,"text":"x"}`, inside))
}
