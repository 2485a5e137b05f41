package broker_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"c2c/broker"
	"c2c/broker/owed"
	"c2c/inbox/mail"
	"c2c/sessions"
	"c2c/sessions/callers"
)

// owing is amber, who wants an answer of birch within an hour.
func owing(t *testing.T) (w *world, amber, birch sessions.Session, r broker.Receipt) {
	w, amber, birch = pair(t)
	r, err := w.Send(t.Context(), amber, mail.Message{To: "birch", Content: "which port", TellAfter: -1, AnswerBy: mail.Seconds(w.clock.Add(time.Hour))})
	if err != nil {
		t.Fatal(err)
	}
	return w, amber, birch, r
}

// left says whether an answer is still waited for.
func (w *world) left(sid string) bool {
	_, err := os.Stat(filepath.Join(w.Root(), owedDir, sid+owedEnd))
	return err == nil
}

func TestASenderIsToldThatAnAnswerIsLate(t *testing.T) {
	t.Parallel()
	for name, does := range map[string]func(w *world, birch sessions.Session){
		"unread": func(*world, sessions.Session) {},
		"read":   func(w *world, birch sessions.Session) { w.read(birch.ID) },
		"written to": func(w *world, birch sessions.Session) {
			w.read(birch.ID)
			w.pass(time.Minute)
			w.send(birch, "amber", "it is 80") // it names no question, so it may be about something else
		},
		"answered by another session": func(w *world, birch sessions.Session) {
			id := w.waiting(birch.ID)[0].ID
			w.read(birch.ID)
			w.put(w.register("cedar", callers.Caller{PID: w.pid(30)}), "amber", mail.Message{Content: "ask ivy", InReplyTo: id})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, amber, birch, r := owing(t)
			does(w, birch)
			k := owed.NewChecker(w.Registry)
			if wait := w.look(k); wait <= 0 || wait > time.Hour {
				t.Errorf("looks again after %v", wait)
			}
			w.pass(time.Hour)
			for range 2 {
				w.look(k)
				w.look(owed.NewChecker(w.Registry))
			}
			w.wantNotices(amber.ID, `birch has not answered your message "which port" (`)
			if st, err := w.Status(t.Context(), r.ID); err != nil || len(st.Told) != 1 || st.Told[0].Reason != owed.Unanswered {
				t.Errorf("status %+v, %v", st, err)
			}
			if w.left(birch.ID) {
				t.Error("the record stays")
			}
		})
	}
}

// One sender cannot be told, and half a line was left by a power cut: both cost the others nothing.
func TestALateAnswerIsToldToOthersAllTheSame(t *testing.T) {
	t.Parallel()
	w, amber, birch, _ := owing(t)
	cedar := w.register("cedar", callers.Caller{PID: w.pid(30)})
	path := filepath.Join(w.Root(), owedDir, birch.ID+owedEnd)
	whole, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, append(whole, `{"from_alias":"amb`...), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Send(t.Context(), cedar, mail.Message{To: "birch", Content: "which host", TellAfter: -1, AnswerBy: mail.Seconds(w.clock.Add(time.Hour))}); err != nil {
		t.Fatal(err)
	}
	unblock := w.block(amber.ID)
	w.pass(time.Hour)
	k := owed.NewChecker(w.Registry)
	w.look(k)
	w.wantNotices(cedar.ID, `birch has not answered your message "which host" (`)
	unblock()
	w.pass(retryAfter)
	w.look(k)
	w.wantNotices(amber.ID, `birch has not answered your message "which port" (`)
}

// Nothing keeps the words of an ephemeral message that was read.
func TestNoWordOfAnEphemeralMessageIsKeptForItsAnswer(t *testing.T) {
	t.Parallel()
	w, amber, birch := pair(t)
	m := mail.Message{To: "birch", Content: "the password", Ephemeral: true, AnswerBy: mail.Seconds(w.clock.Add(time.Hour))}
	r, err := w.Send(t.Context(), amber, m)
	if err != nil {
		t.Fatal(err)
	}
	w.read(birch.ID)
	if record := w.file(filepath.Join(owedDir, birch.ID+owedEnd)); strings.Contains(record, "password") || !strings.Contains(record, r.ID) {
		t.Errorf("the record is %s", record)
	}
	w.pass(time.Hour)
	w.look(owed.NewChecker(w.Registry))
	w.wantNotices(amber.ID, "birch has not answered your message "+mail.ShortID(r.ID)+" within 1 h")
}

// The answer may wait, be in a reader's hands when its time is over, or be far back in the archive.
func TestNobodyIsToldOfAnAnswerThatHasCome(t *testing.T) {
	t.Parallel()
	for name, then := range map[string]func(w *world, amber, birch sessions.Session){
		"waits":    func(*world, sessions.Session, sessions.Session) {},
		"in hand":  func(w *world, amber, _ sessions.Session) { w.t.Cleanup(w.lease(amber.ID)) },
		"was read": func(w *world, amber, _ sessions.Session) { w.read(amber.ID) },
		"long read": func(w *world, amber, birch sessions.Session) {
			for range owed.OpenLook + 1 {
				w.send(birch, "amber", "more")
			}
			w.read(amber.ID)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, amber, birch, r := owing(t)
			w.read(birch.ID)
			if _, err := w.Send(t.Context(), birch, mail.Message{To: "amber", Content: "80", InReplyTo: r.ID}); err != nil {
				t.Fatal(err)
			}
			then(w, amber, birch)
			w.pass(time.Hour)
			w.look(owed.NewChecker(w.Registry))
			w.wantNotices(amber.ID)
			if w.left(birch.ID) {
				t.Error("the record stays")
			}
		})
	}
}

// A sender that was killed behind the message repeats it, and one that tells of the late answer is
// killed before the record is dropped.
func TestALateAnswerIsToldOnceWhereverSomebodyIsKilled(t *testing.T) {
	t.Parallel()
	w, amber, birch := pair(t)
	m := mail.Message{To: "birch", Content: "x", ID: "m-1", TellAfter: -1, AnswerBy: mail.Seconds(w.clock.Add(time.Hour))}
	for range 2 {
		if _, err := w.Send(t.Context(), amber, m); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(filepath.Join(w.Root(), owed.Directory, birch.ID+owed.Suffix)); err != nil { // as if it had been killed before
			t.Fatal(err)
		}
	}
	for range 3 {
		if _, err := w.Send(t.Context(), amber, m); err != nil {
			t.Fatal(err)
		}
	}
	if owed := w.file("owed/" + birch.ID + ".jsonl"); strings.Count(owed, "\n") != 1 {
		t.Errorf("owed is %s", owed)
	}
	w.read(birch.ID)
	w.pass(time.Hour)
	record := w.file("owed/" + birch.ID + ".jsonl")
	w.look(owed.NewChecker(w.Registry))
	w.wantNotices(amber.ID, "has not answered")
	if err := os.WriteFile(filepath.Join(w.Root(), "owed", birch.ID+".jsonl"), []byte(record), 0o600); err != nil { // as if it had been killed before
		t.Fatal(err)
	}
	w.pass(time.Second)
	w.look(owed.NewChecker(w.Registry))
	w.wantNotices(amber.ID, "has not answered")
	if w.left(birch.ID) {
		t.Error("the record stays")
	}
}
