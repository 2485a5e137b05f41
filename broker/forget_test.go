package broker_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"c2c/broker"
	"c2c/broker/moves"
	"c2c/inbox/mail"
	"c2c/sessions"
	"c2c/sessions/callers"
)

// full writes a registry that is so many percent full of sessions that have ended, each with mail of a peer or without.
func (w *world) full(percent int, withMail bool) {
	w.t.Helper()
	var rows []string
	for size := 0; size < registryMax*percent/100-600; {
		i := len(rows)
		rows = append(rows, fmt.Sprintf(`{"session_id":"s%d","alias":"s%[1]d","registered_at":1.0,"pid":1073741901,"pid_start_time":1,"role":"%0500d"}`, i, i))
		size += len(rows[i]) + 2
		if withMail {
			if _, err := w.box(fmt.Sprint("s", i)).Deliver(w.t.Context(), mail.Message{From: "amber", To: fmt.Sprint("s", i), Content: "x"}); err != nil {
				w.t.Fatal(err)
			}
		}
	}
	w.writeRegistry("[\n" + strings.Join(rows, ",\n") + "\n]\n")
}

func TestTheDoctorWarnsBeforeTheRegistryIsFull(t *testing.T) {
	t.Parallel()
	for percent, warns := range map[int]bool{60: false, 75: true} {
		w := newWorld(t)
		w.full(percent, true)
		var told []string
		for _, f := range broker.CheckRoot(t.Context(), w.Registry) {
			if f.Part == "registry" {
				told = append(told, f.Detail)
			}
		}
		if (len(told) == 1 && strings.Contains(told[0], "c2c sweep")) != warns {
			t.Errorf("%d %% full: %q", percent, told)
		}
	}
}

// notice puts a notice of c2c into a mailbox.
func (w *world) notice(s sessions.Session, words string) {
	w.t.Helper()
	m := mail.Message{From: sessions.SystemAlias, FromSession: sessions.SystemAlias, To: s.Alias, Kind: mail.KindSystem, Deferrable: true, Content: words}
	if _, err := w.box(s.ID).Deliver(w.t.Context(), m); err != nil {
		w.t.Fatal(err)
	}
}

// forgets has the registry get so full of people that it forgets the row of a session that has ended.
func (w *world) forgets(sid string) {
	w.t.Helper()
	const person = `{"session_id":"p%d","alias":"p%[1]d","client_type":"human","registered_at":1.0,"role":"%s"}`
	rows := []string{strings.Trim(w.file(sessions.RegistryFileName), "[]\n")}
	for size := len(rows[0]); size < sessions.MaxRegistryBytes-50; size += len(rows[len(rows)-1]) + 2 {
		rows = append(rows, fmt.Sprintf(person, len(rows), strings.Repeat("x", min(7000, max(0, sessions.MaxRegistryBytes-150-size)))))
	}
	w.writeRegistry("[\n" + strings.Join(rows, ",\n") + "\n]\n")
	w.register("n", callers.Caller{Explicit: "n", PID: w.pid(30)})
	var left []string
	for _, row := range strings.Split(strings.Trim(w.file(sessions.RegistryFileName), "[]\n"), ",\n") {
		if !strings.Contains(row, `"client_type":"human"`) {
			left = append(left, row)
		}
	}
	w.writeRegistry("[\n" + strings.Join(left, ",\n") + "\n]\n")
	if strings.Contains(w.file(sessions.RegistryFileName), sid) {
		w.t.Fatalf("it is not forgotten: %s", left)
	}
}

// What c2c has written itself is worth nothing to a session that does not come back, and costs nobody else a mailbox.
func TestNoticesPinNoRow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	amber := w.register("amber", callers.Caller{Explicit: "amber", PID: w.pid(10)})
	const each = `{"session_id":"s%d","alias":"s%[1]d","registered_at":1.0,"pid":1073741901,"pid_start_time":1,"role":"%s"}`
	var rows []string
	for i := range 9 {
		rows = append(rows, fmt.Sprintf(each, i, strings.Repeat("x", 7100)))
		w.notice(sessions.Session{ID: fmt.Sprint("s", i), Alias: fmt.Sprint("s", i)}, "amber has not read")
	}
	rows = append(rows, strings.Trim(w.file(sessions.RegistryFileName), "[]\n"))
	w.writeRegistry("[\n" + strings.Join(rows, ",\n") + "\n]\n")
	w.send(amber, "s3", "of a peer")
	w.register("birch", callers.Caller{Client: strings.Repeat("gem", 500), PID: w.pid(20)})
	left := w.file(sessions.RegistryFileName)
	for _, sid := range []string{"s3", "amber"} {
		if !strings.Contains(left, `"session_id":"`+sid+`"`) {
			t.Errorf("%s is forgotten", sid)
		}
	}
	if strings.Contains(left, `"s0"`) {
		t.Error("a notice pins its row")
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

// A session that comes back after it was forgotten finds its mailbox, its alias and what c2c has told it.
func TestAForgottenSessionComesBack(t *testing.T) {
	t.Parallel()
	w, _, birch := pair(t)
	w.notice(birch, "amber has not read")
	w.ends(20)
	w.pass(2 * time.Hour)
	w.forgets(birch.ID)
	w.starts(20)
	back := w.attach(callers.Caller{Client: "codex", ClientID: "b", PID: w.pid(20)})
	if back.ID != birch.ID || back.Alias != "birch" {
		t.Errorf("it is %+v", back)
	}
	w.wantMail(back.ID, "amber has not read")
}
