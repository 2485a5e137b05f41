package relay

import (
	"context"
	"testing"
	"time"

	"c2c/broker"
	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
	"c2c/sessions"
)

// A suspended process holds the lock of birch's mailbox. A look ends nevertheless, and reports the
// states of the other sessions' mail.
func TestALookEndsAlthoughAMailboxIsLocked(t *testing.T) {
	_, devbox := twoMachines(t)
	b := devbox.project("site", "birch", "cedar")
	f, err := follow(b)
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	for _, alias := range []string{"birch", "cedar"} {
		m := mail.Message{From: "amber@laptop", FromSession: "r-laptop.s-amber", ID: "m-" + alias, Content: "one", To: alias}
		if _, err := broker.Receive(t.Context(), b, alias, []mail.Message{m}, false); err != nil {
			t.Fatal(err)
		}
		f.add("laptop", "s-"+alias, []mail.Message{m})
		devbox.reads(b, alias)
	}
	lock, err := atomicfile.Acquire(t.Context(), b.Dir(), "s-birch.inbox.lock")
	if err != nil {
		t.Fatal(err)
	}
	linked := func(string) bool { return true }
	for range 2 {
		if news, sids := f.look(t.Context(), linked); len(news["laptop"]) > 0 && news["laptop"][0].ID != "m-cedar" || len(sids) == 0 {
			t.Errorf("news %+v of %q", news, sids)
		}
	}
	lock.Release()
	devbox.skew = time.Minute
	if news, _ := f.look(t.Context(), linked); len(news["laptop"]) != 1 || news["laptop"][0].ID != "m-birch" {
		t.Errorf("%+v", news)
	}
}

// A look that fails must not hide a state until a file changes again.
func TestAStateThatCouldNotBeReadIsReadAtTheNextLook(t *testing.T) {
	_, devbox := twoMachines(t)
	b := devbox.project("site", "birch")
	m := mail.Message{From: "amber@laptop", FromSession: "r-laptop.s-amber", ID: "m-1", Content: "one", To: "birch"}
	f, err := follow(b)
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	box, err := b.Mailbox("s-birch")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := box.Deliver(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	f.add("laptop", "s-birch", []mail.Message{m})
	devbox.reads(b, "birch")
	linked := func(string) bool { return true }
	late, cancel := context.WithCancel(t.Context())
	cancel()
	lock, err := atomicfile.OpenLocked(b.Dir(), box.LockName())
	if err != nil {
		t.Fatal(err)
	}
	if held, err := lock.Try(); err != nil || !held {
		t.Fatal(held, err)
	}
	if news, _ := f.look(late, linked); len(news) != 0 {
		t.Fatalf("%v", news)
	}
	lock.Release()
	news, _ := f.look(t.Context(), linked)
	if got := news["laptop"]; len(got) != 1 || got[0].What != string(sessions.Read) && got[0].What != string(sessions.Handed) {
		t.Errorf("%+v", news)
	}
}
