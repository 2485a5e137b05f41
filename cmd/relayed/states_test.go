package relayed

import (
	"context"
	"testing"

	"c2c/inbox/filelock"
	"c2c/inbox/mail"
	"c2c/sessions"
)

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
	lock, err := filelock.Open(b.Dir(), box.LockName())
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
