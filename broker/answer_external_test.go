package broker_test

import (
	"errors"
	"strings"
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

func TestOnlyAnOwnAnswerToTheSenderIsEdited(t *testing.T) {
	w := newWorld(t)
	birch, amber := w.register("birch", callers.Caller{PID: w.pid(10), Client: "gem"}), w.register("amber", callers.Caller{PID: w.pid(11), Client: "gem"})
	ci, desk := w.outside("ci"), w.outside("desk")
	ask := func(from sessions.Session, to string) mail.Message {
		t.Helper()
		r, err := w.Send(t.Context(), from, mail.Message{To: to, Content: "x"})
		if err != nil {
			t.Fatal(err)
		}
		return mail.Message{From: from.Alias, To: to, ID: r.ID, External: from.State == sessions.External}
	}
	reply := func(from sessions.Session, to mail.Message, o mail.Origin) (broker.Receipt, error) {
		return w.ReplyExternal(t.Context(), from, to, mail.Message{Content: "y"}, o)
	}
	asked, elsewhere := ask(ci, "birch"), ask(desk, "birch")
	own, err := reply(birch, asked, mail.Origin{})
	if err != nil {
		t.Fatal(err)
	}
	toDesk, err := reply(birch, elsewhere, mail.Origin{})
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := reply(amber, ask(ci, "amber"), mail.Origin{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := reply(birch, asked, mail.Origin{Edits: own.ID[28:]}); err != nil {
		t.Error(err)
	}
	w.read(ci.ID) // also when it was handed over
	if r, err := reply(birch, asked, mail.Origin{Edits: own.ID}); err != nil {
		t.Error(err)
	} else if m := w.waiting(ci.ID)[0]; m.ID != r.ID {
		t.Errorf("%+v", m)
	} else if o, _ := m.Origin(); o.Edits != own.ID {
		t.Errorf("it edits %q, want %q", o.Edits, own.ID)
	}
	for name, id := range map[string]string{"to another sender": toDesk.ID, "somebody else's": foreign.ID, "what the sender wrote": asked.ID, "nothing": "0000aaaa"} {
		if _, err := reply(birch, asked, mail.Origin{Edits: id}); err == nil {
			t.Errorf("%s is edited", name)
		}
	}
	inside := ask(amber, "birch")
	if _, err := reply(birch, inside, mail.Origin{}); err == nil || !strings.Contains(err.Error(), "of this machine") {
		t.Errorf("to a session: %v", err)
	}
}
