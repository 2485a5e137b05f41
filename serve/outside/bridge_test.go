package outside

import (
	"strings"
	"testing"
	"time"
)

func TestAStrangerBehindABridgeIsLetInByAPerson(t *testing.T) {
	d := webhookNewDesk(t)
	key := d.allow(Sender{Name: "chat", Bridge: true})
	for range 2 {
		d.want(403, "c2c senders allow chat 'u1'", "/", "secret words", "key", key, "X-Sender", "u1", "X-Chat-Id", "room")
	}
	if log := d.log.String(); !strings.Contains(log, "its writer u1") || strings.Contains(log, "secret words") {
		t.Errorf("logged %s", log)
	}
	if r := d.list.Refused(); r.Sender != "chat" || !strings.Contains(r.Why, "c2c senders allow chat 'u1'") {
		t.Errorf("%+v", r)
	}
	if _, err := d.list.Admit(t.Context(), "chat", "u1"); err != nil {
		t.Fatal(err)
	}
	if len(d.mail("birch")) > 0 {
		t.Error("a stranger has written")
	}
	d.want(200, "ok", "/", "hello", "key", key, "X-Sender", "u1")
	if m, o := d.last("birch"); m.From != "external-chat" || o.Identity != "u1" || o.ChatID != "u1" || m.Content != "hello" {
		t.Errorf("%+v %+v", m, o)
	}
	d.want(200, "ok", "/", `{"text":"x","chat_id":"u2"}`, "key", key, "X-Sender", "u1", "Content-Type", "application/x-www-form-urlencoded")
	if m, o := d.last("birch"); o.ChatID != "u1" || m.Content != `{"text":"x","chat_id":"u2"}` {
		t.Errorf("who writes through a bridge chooses the chat: %+v %+v", m, o)
	}
	d.want(200, "ok", "/", `{"text":"x","chat_id":"u1-7"}`, "key", key, "X-Sender", "u1", "Content-Type", "application/json")
	if m, o := d.last("birch"); o.ChatID != "u1-7" || m.Content != "x" {
		t.Errorf("the bridge cannot choose it: %+v %+v", m, o)
	}
	d.want(400, "X-Sender", "/", "x", "key", key)
	d.want(400, "identity", "/", "x", "key", key, "X-Sender", "a b")
	d.want(400, "times", "/", "x", "key", key, "X-Sender", "u1", "X-Sender", "u1")
	d.want(403, "knows you", "/", "x", "key", key, "X-Sender", "U1") // somebody else
}

// Strangers behind a bridge do not use up the rate of those who are known.
func TestStrangersTakeNothingFromThoseWhoAreKnown(t *testing.T) {
	d := webhookNewDesk(t)
	key := d.allow(Sender{Name: "chat", Bridge: true, Identities: []string{"u1", "u2"}})
	for range int(perSender.Burst) {
		d.want(403, "", "/", "x", "key", key, "X-Sender", "spam")
	}
	d.want(429, "", "/", "x", "key", key, "X-Sender", "spam2")
	for range int(perSender.Burst) {
		d.want(200, "ok", "/", "x", "key", key, "X-Sender", "u1")
	}
	d.want(429, "", "/", "x", "key", key, "X-Sender", "u1")
	d.want(200, "ok", "/", "x", "key", key, "X-Sender", "u2")
	d.pass(time.Minute)
	d.want(200, "ok", "/", "x", "key", key, "X-Sender", "u1")
}
