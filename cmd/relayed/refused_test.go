package relayed

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"c2c/broker/notice"
	"c2c/inbox/mail"
	"c2c/relay"
	"c2c/sessions/callers"
)

// Otherwise one sender whose mailbox c2c cannot write would keep the mail of all others in the outbox.
func TestARefusedMessageOfASenderThatCannotBeToldHoldsUpNoOther(t *testing.T) {
	laptop, _ := twoMachines(t)
	b := laptop.project("site", "amber")
	if err := os.Mkdir(filepath.Join(b.Root(), "s-amber.inbox.json"), 0o700); err != nil {
		t.Fatal(err)
	}
	p := &post{b: b, h: &Host{Log: slog.New(slog.DiscardHandler)}}
	blocked := mail.Message{From: "amber", FromSession: "s-amber", To: "birch@devbox", ID: "m-1", Content: "one"}
	gone := mail.Message{From: "cedar", FromSession: "s-cedar", To: "birch@devbox", ID: "m-2", Content: "two"}
	for _, m := range []mail.Message{blocked, gone} {
		if err := p.Refused(t.Context(), "devbox", m, relay.Unknown); err != nil {
			t.Errorf("%s: %v", m.ID, err)
		}
	}
	dead, err := notice.DeadLetters(t.Context(), b.Registry, 0)
	if err != nil || len(dead) != 2 {
		t.Errorf("dead letters %+v, %v, want both messages", dead, err)
	}
	file := filepath.Join(b.Root(), callers.DeadLetterFile)
	if err := errors.Join(os.Remove(file), os.Mkdir(file, 0o700)); err != nil {
		t.Fatal(err)
	}
	blocked.ID = "m-3"
	if err := p.Refused(t.Context(), "devbox", blocked, relay.Unknown); err == nil {
		t.Error("a message without a dead letter must stay in the outbox")
	}
}
