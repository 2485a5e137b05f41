package relay

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"c2c/broker/owed"
	"c2c/inbox/mail"
	"c2c/relay"
	"c2c/rooms"
	"c2c/sessions/callers"
)

// Otherwise one sender whose mailbox c2c cannot write would keep the mail of all others in the
// outbox.
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
	dead, err := owed.DeadLetters(b.Registry)
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

// A room is closed while a machine is away. The refusal of a post there overtakes the posts that
// wait for it, and these may name its author.
func TestARefusalByAClosedRoomEndsNoMembership(t *testing.T) {
	laptop, devbox := twoMachines(t)
	home, here := devbox.project("site", "amber"), laptop.project("site", "birch")
	laptop.run()
	devbox.run()
	devbox.joins(home, "amber", "review")
	laptop.joins(here, "birch", "review@devbox")
	p := &post{b: here, h: &Host{Log: slog.New(slog.DiscardHandler)}}
	m := rooms.RoomOp{Do: rooms.DoPost, Text: "hello"}.Message("#review@devbox")
	m.ID, m.From, m.FromSession = "m-1", "birch", "s-birch"
	for _, c := range []struct {
		why relay.Reason
		in  bool
	}{{relay.NoRoom, true}, {relay.NoMember, false}} {
		if err := p.Refused(t.Context(), "devbox", m, c.why); err != nil {
			t.Fatal(err)
		}
		if got := slices.Contains(laptop.members(here, "review@devbox"), "birch"); got != c.in {
			t.Errorf("%v: birch is a member: %t", c.why, got)
		}
	}
}
