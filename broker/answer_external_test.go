package broker_test

import (
	"errors"
	"testing"

	"c2c/broker"
	"c2c/inbox/mail"
	"c2c/sessions"
	"c2c/sessions/callers"
)

func TestAnAnswerGoesToWhoHasTheChat(t *testing.T) {
	w := newWorld(t)
	birch := w.register("birch", callers.Caller{PID: w.pid(10), Client: "gem"})
	ci, desk := w.outside("ci"), w.outside("desk")
	say := func(from sessions.Session, text, chat string) {
		t.Helper()
		if _, err := w.SendExternal(t.Context(), from, mail.Message{To: "birch", Content: text}, mail.Origin{ChatID: chat, Identity: "max"}); err != nil {
			t.Fatal(err)
		}
	}
	say(ci, "first", "7")
	w.read(birch.ID)
	say(ci, "second", "7")
	say(ci, "other", "8")
	for chat, want := range map[string]string{"7": "second", "8": "other"} {
		got, err := w.ReceivedInChat(t.Context(), birch, chat)
		if err != nil || got.Content != want {
			t.Errorf("chat %s: %q, %v; want %q", chat, got.Content, err, want)
		}
	}
	for _, chat := range []string{"", "9", "7 "} {
		if got, err := w.ReceivedInChat(t.Context(), birch, chat); err == nil {
			t.Errorf("chat %q: %+v", chat, got)
		}
	}
	got, err := w.ReceivedInChat(t.Context(), birch, "7")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Reply(t.Context(), birch, got, mail.Message{Content: "yes"}); err != nil {
		t.Fatal(err)
	}
	answer := w.waiting(ci.ID)[0]
	if o, ok := answer.Origin(); !ok || o.ChatID != "7" || o.Identity != "max" || o.Path != "" || answer.External {
		t.Errorf("%+v %v", o, ok)
	}
	// Somebody else who takes the same id gets nothing.
	say(desk, "me too", "7")
	several := new(broker.SeveralError)
	if got, err := w.ReceivedInChat(t.Context(), birch, "7"); !errors.As(err, &several) || len(several.Matches) != 2 {
		t.Errorf("%+v, %v", got, err)
	}
	// An agent's message is not from outside, whatever it says.
	amber := w.register("amber", callers.Caller{PID: w.pid(11), Client: "gem"})
	if _, err := w.SendExternal(t.Context(), amber, mail.Message{To: "birch", Content: "mine"}, mail.Origin{ChatID: "8"}); err != nil {
		t.Fatal(err)
	}
	if got, err := w.ReceivedInChat(t.Context(), birch, "8"); err != nil || got.Content != "other" {
		t.Errorf("%+v, %v", got, err)
	}
}
