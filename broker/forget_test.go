package broker_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"c2c/broker/moves"
	"c2c/inbox/mail"
	"c2c/sessions"
	"c2c/sessions/callers"
)

// notice puts a notice of c2c into a mailbox.
func (w *world) notice(s sessions.Session, words string) {
	w.t.Helper()
	m := mail.Message{From: sessions.SystemAlias, FromSession: sessions.SystemAlias, To: s.Alias, Kind: mail.KindSystem, Deferrable: true, Content: words}
	if _, err := w.box(s.ID).Deliver(w.t.Context(), m); err != nil {
		w.t.Fatal(err)
	}
}

// crowd writes 200 rows of people, so that a session that ended a day ago is forgotten.
func (w *world) crowd() {
	w.t.Helper()
	rows := []string{strings.Trim(w.file(sessions.RegistryFileName), "[]\n")}
	for i := range 200 {
		rows = append(rows, fmt.Sprintf(`{"session_id":"p%d","alias":"p%[1]d","client_type":"human","registered_at":1.0}`, i))
	}
	w.writeRegistry("[\n" + strings.Join(rows, ",\n") + "\n]\n")
}

// What c2c has written itself is worth nothing to a session that does not come back.
func TestNoticesPinNoRow(t *testing.T) {
	t.Parallel()
	w, amber, birch := pair(t)
	other := w.register("cedar", callers.Caller{Explicit: "cedar", PID: w.pid(30)})
	w.notice(birch, "amber has not read")
	w.send(amber, "cedar", "of a peer")
	w.ends(20)
	w.ends(30)
	w.crowd()
	w.pass(sessions.ForgetSoon + time.Hour)
	w.tidied()
	left := w.file(sessions.RegistryFileName)
	if strings.Contains(left, `"session_id":"`+birch.ID+`"`) {
		t.Error("a notice pins its row")
	}
	for _, s := range []sessions.Session{amber, other} {
		if !strings.Contains(left, `"session_id":"`+s.ID+`"`) {
			t.Errorf("%s is forgotten", s.Alias)
		}
	}
}

func TestNoticesAreNoDeadLetters(t *testing.T) {
	t.Parallel()
	w, amber, birch := pair(t)
	w.notice(birch, "before")
	w.send(amber, "birch", "of a peer")
	w.notice(birch, "behind")
	w.ends(20)
	w.pass(2 * time.Hour)
	swept, err := moves.Sweep(t.Context(), w.Registry, time.Hour)
	if err != nil || swept.Messages != 1 {
		t.Errorf("swept %+v, %v", swept, err)
	}
	w.wantDead("of a peer")
	w.wantMail(birch.ID)
}

// A session that comes back after it was forgotten finds its mailbox, its alias and what c2c has
// told it.
func TestAForgottenSessionComesBack(t *testing.T) {
	t.Parallel()
	w, _, birch := pair(t)
	w.notice(birch, "amber has not read")
	w.ends(20)
	w.crowd()
	w.pass(sessions.ForgetSoon + time.Hour)
	w.tidied()
	if strings.Contains(w.file(sessions.RegistryFileName), `"session_id":"`+birch.ID+`"`) {
		t.Fatal("it is not forgotten")
	}
	w.starts(20)
	back := w.attach(callers.Caller{Client: "codex", ClientID: "b", PID: w.pid(20)})
	if back.ID != birch.ID || back.Alias != "birch" {
		t.Errorf("it is %+v", back)
	}
	w.wantMail(back.ID, "amber has not read")
}
