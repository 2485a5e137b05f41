// These tests force a race: a sender has looked its receiver up, and stores the message only when
// another process has moved or forgotten that session. They call Deliver, which is the second half
// of a send.

package broker_test

import (
	"context"
	"testing"
	"time"

	"c2c/inbox/mail"
	"c2c/sessions"
	"c2c/sessions/callers"
)

// A sender that had looked the alias up before it changed hands finds that a mover holds the old
// mailbox.
func TestASendThatCannotFollowIsSentAndComesLater(t *testing.T) {
	w, amber := absentHolder(t)
	unblock := w.block("heir")
	w.register("birch", w.heir())
	if err := w.Facts.Change(context.Background(), "heir", func(f *sessions.Facts) { f.MoveFrom = nil }); err != nil {
		t.Fatal(err)
	}
	var old sessions.Row
	old.SetText("session_id", "old")
	old.SetText("alias", "birch")
	r, err := w.Deliver(context.Background(), amber, old, mail.Message{To: "birch", Content: "1"})
	if err != nil {
		t.Fatalf("receipt %+v, %v", r, err)
	}
	w.wantMail("old", "1")
	unblock()
	w.attach(w.heir())
	w.wantMail("heir", "1")
	w.wantMoves("heir")
}

// A sender that had looked up its receiver before that was forgotten has a receipt. It is told what
// became of its message.
func TestMailThatCameWhileItsSessionWasForgottenIsADeadLetter(t *testing.T) {
	t.Parallel()
	w, birch := unused(t, 40)
	rows, err := w.Rows(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	to := rows[sessions.FindSID(rows, birch.ID)]
	amber := w.Session(w.Receiver(rows, "amber"))
	w.tidied()
	r, err := w.Deliver(t.Context(), amber, to, mail.Message{Content: "late", ID: "late"})
	if err != nil || !r.Queued {
		t.Fatal(r, err)
	}
	w.pass(time.Hour)
	w.tidied()
	w.wantMail(birch.ID, "late")
	w.pass(sessions.ForgetSoon)
	w.tidied()
	w.wantMail(birch.ID)
	w.wantNotices(amber.ID, "that session is long gone")
	w.starts(20)
	if s := w.attach(callers.Caller{Client: "codex", ClientID: "b", PID: w.pid(20)}); s.ID != birch.ID || s.Alias != "birch" {
		t.Errorf("it is back as %+v", s)
	}
	w.wantMail(birch.ID, "late")
}
