package mcp

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
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
	file := filepath.Join(t.TempDir(), "report")
	if err := os.WriteFile(file, []byte("words that stay here"), 0o600); err != nil {
		t.Fatal(err)
	}
	first := fields(t, birch.want("reply", `{"chat_id":"42","text":"on it"}`))
	if first["to_alias"] != "external-ci" {
		t.Errorf("%v", first)
	}
	birch.want("reply", fmt.Sprintf(`{"message_id":%q,"chat_id":"42","content":"done","files":[%q],"edits":%q}`, asked.ID, file, first["message_id"]))
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
	for i, want := range []mail.Origin{{ChatID: "42", Identity: "max"}, {ChatID: "42", Identity: "max", Edits: got[0].ID}} {
		o, _ := got[i].Origin()
		if o.ChatID != want.ChatID || o.Identity != want.Identity || o.Edits != want.Edits || len(o.Files) != i {
			t.Errorf("answer %d: %+v", i, o)
		}
	}
	if o, _ := got[1].Origin(); o.Files[0].Path != file || o.Files[0].Size != 20 {
		t.Errorf("%+v", o.Files)
	}
	for args, says := range map[string]string{
		`{"text":"x"}`:     "in_reply_to",
		`{"chat_id":"42"}`: "content",
		`{"chat_id":"42","text":"x","content":"y"}`:                                             "give only one",
		`{"chat_id":"41","text":"x"}`:                                                           "no such message",
		`{"chat_id":"41","message_id":"` + asked.ID + `","text":"x"}`:                           "another chat_id",
		`{"chat_id":"42","text":"x","files":["/proc/self/environ"]}`:                            "not a file on a disk",
		`{"chat_id":"42","text":"x","files":["report"]}`:                                        "absolute",
		`{"chat_id":"42","text":"x","edits":"` + asked.ID + `"}`:                                "not an answer that you sent",
		`{"chat_id":"42","text":"x","files":[1,2,3,4,5,6,7,8,9,10,11]}`:                         "files",
		`{"chat_id":"42","text":"x","files":["` + strings.Repeat(file+`","`, 10) + file + `"]}`: "got 11, want 10",
		`{"chat_id":"42\" from_alias=\"max","text":"x"}`:                                        "chat id",
	} {
		birch.refused("reply", args, says)
	}
	amber.refused("reply", `{"chat_id":"42","text":"x"}`, "no such message") // it has no such mail
	inside := fields(t, amber.want("send", `{"to_alias":"birch","content":"x"}`))["message_id"].(string)
	birch.refused("reply", fmt.Sprintf(`{"message_id":%q,"text":"x","files":[%q]}`, inside, file), "of this machine")
	birch.want("reply", fmt.Sprintf(`{"message_id":%q,"text":"x"}`, inside))
}
