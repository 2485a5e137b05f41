package broker_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"c2c/broker/moves"
	"c2c/broker/owed"
	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/sessions"
	"c2c/sessions/callers"
	"c2c/wake"
)

// notices gives the bodies of what c2c itself has written to a session, but for reminders.
func (w *world) notices(sid string) (texts []string) {
	w.t.Helper()
	for _, m := range w.waiting(sid) {
		if m.From == sessions.SystemAlias && m.Deferrable {
			if m.Kind != "system" {
				w.t.Errorf("notice %+v", m)
			}
			texts = append(texts, m.Content)
		}
	}
	return texts
}

// wantNotices looks for one notice with each of the words, and for no other.
func (w *world) wantNotices(sid string, words ...string) {
	w.t.Helper()
	got := w.notices(sid)
	ok := len(got) == len(words)
	for i := range words {
		ok = ok && strings.Contains(got[i], words[i])
	}
	if !ok {
		w.t.Errorf("notices to %s: %q, want %q", sid, got, words)
	}
}

func (w *world) look(k *owed.Checker) time.Duration {
	w.t.Helper()
	defer unforked()()
	wait, err := k.Look(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	return wait
}

// unforked keeps the tests beside this one from starting a program, until resume is called. Between
// fork and exec a new process has the open files of all tests, and their locks, so a lock that is
// only tried then looks taken.
func unforked() (resume func()) {
	syscall.ForkLock.RLock()
	return syscall.ForkLock.RUnlock
}

// lookAtOnce looks with so many checkers at one time.
func (w *world) lookAtOnce(n int) {
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			if _, err := owed.NewChecker(w.Registry).Look(w.t.Context()); err != nil {
				w.t.Error(err)
			}
		})
	}
	all.Wait()
}

func (w *world) pass(d time.Duration) { w.clock = w.clock.Add(d) }

// pair is amber, who writes to birch. Both live.
func pair(t *testing.T) (w *world, amber, birch sessions.Session) {
	w = newWorld(t)
	w.opens(20, "b")
	return w, w.register("amber", callers.Caller{Client: "claude", ClientID: "a", PID: w.pid(10)}), w.register("birch", callers.Caller{Client: "codex", ClientID: "b", PID: w.pid(20)})
}

func TestASenderIsToldOfWhatItsMessageIsOwed(t *testing.T) {
	t.Parallel()
	const min, ms = time.Minute, time.Millisecond
	for _, c := range []struct {
		name    string
		message mail.Message
		before  time.Duration // after which nothing is told yet
		after   time.Duration // then it is told
		words   []string
	}{
		{"unread", mail.Message{}, 30*min - ms, ms, []string{"birch has not read your message \"hello you\" ("}},
		{"a question", mail.Message{Kind: "question"}, 30*min - ms, ms, []string{"has not read"}},
		{"another time", mail.Message{TellAfter: 90}, 89 * time.Second, 2 * time.Second, []string{"for 90 s"}},
		{"a long time", mail.Message{TellAfter: 7200}, 119 * min, 2 * min, []string{"for 2 h."}},
		{"never", mail.Message{TellAfter: -1}, 30 * min, 1000 * time.Hour, nil},
		{"a status", mail.Message{Kind: "status"}, 30 * min, 1000 * time.Hour, nil},
		{"an ack", mail.Message{Kind: "ack"}, 30 * min, 1000 * time.Hour, nil},
		{"a status whose sender asks", mail.Message{Kind: "status", TellAfter: 60}, 59 * time.Second, time.Second, []string{"has not read"}},
		{"ephemeral", mail.Message{Ephemeral: true}, 30 * min, 1000 * time.Hour, nil},
		{"what may wait", mail.Message{Deferrable: true}, 30 * min, 1000 * time.Hour, nil},
		{"expired", mail.Message{ExpiresAt: 300}, 5*min - ms, ms, []string{"birch did not read your message \"hello you\" ("}},
		{"unread and then expired", mail.Message{TellAfter: 60, ExpiresAt: 300}, 59 * time.Second, 10 * min, []string{"within 5 min. It has expired"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w, amber, _ := pair(t)
			m := c.message
			m.To, m.Content = "birch", "hello\nyou"
			if m.ExpiresAt != 0 {
				m.ExpiresAt += mail.Seconds(w.clock)
			}
			if _, err := w.Send(t.Context(), amber, m); err != nil {
				t.Fatal(err)
			}
			k := owed.NewChecker(w.Registry)
			wait := w.look(k)
			if told := len(c.words) > 0; told != (wait > 0) || told && wait > c.before+c.after {
				t.Errorf("looks again after %v", wait)
			}
			w.pass(c.before)
			w.look(k)
			w.wantNotices(amber.ID)
			w.pass(c.after)
			w.look(k)
			w.wantNotices(amber.ID, c.words...)
			w.pass(time.Hour)
			w.look(k)
			w.look(owed.NewChecker(w.Registry)) // another one, that knows nothing of the first
			w.wantNotices(amber.ID, c.words...)
		})
	}
}

func TestWhatWasReadInTimeIsToldToNobody(t *testing.T) {
	t.Parallel()
	w, amber, birch := pair(t)
	w.send(amber, "birch", "x")
	k := owed.NewChecker(w.Registry)
	w.look(k)
	w.read(birch.ID)
	w.pass(time.Hour)
	if wait := w.look(k); wait != 0 {
		t.Errorf("looks again after %v, though nothing waits", wait)
	}
	w.wantNotices(amber.ID)
}

func TestASenderIsToldThatItsReceiverHasEnded(t *testing.T) {
	t.Parallel()
	w, amber, birch := pair(t)
	w.send(amber, "birch", "x")
	k := owed.NewChecker(w.Registry)
	w.look(k)
	w.ends(20)
	if wait := w.look(k); wait <= 0 || wait > endedAfter {
		t.Errorf("looks again after %v", wait)
	}
	w.wantNotices(amber.ID)
	w.pass(endedAfter)
	w.look(k)
	w.wantNotices(amber.ID, "birch has ended without reading your message")
	w.pass(time.Hour)
	w.look(k)
	w.wantNotices(amber.ID, "has ended")
	w.starts(20)
	w.attach(callers.Caller{Client: "codex", ClientID: "b", PID: w.pid(20)})
	w.look(k)
	w.wantNotices(amber.ID, "has ended")
	w.wantMail(birch.ID, "x")
}

// A client that is started anew within a minute has not ended, and what was sent to an absent
// session was said to wait.
func TestNobodyIsToldOfAnEndThatIsNone(t *testing.T) {
	t.Parallel()
	w, amber, _ := pair(t)
	w.send(amber, "birch", "x")
	k := owed.NewChecker(w.Registry)
	w.ends(20)
	w.look(k)
	w.starts(20)
	w.attach(callers.Caller{Client: "codex", ClientID: "b", PID: w.pid(20)})
	w.pass(endedAfter)
	w.look(k)
	w.wantNotices(amber.ID)
	w.ends(20)
	w.register("coral", callers.Caller{Client: "gem", PID: w.pid(30)})
	w.ends(30)
	if r := w.send(amber, "coral", "y"); r.Recipient != sessions.Absent {
		t.Fatalf("receipt %+v", r)
	}
	w.look(k)
	w.pass(endedAfter)
	w.look(k)
	w.wantNotices(amber.ID, "birch has ended")
	w.pass(owed.TellAfter)
	w.look(k)
	w.wantNotices(amber.ID, "birch has ended") // the receipt has said that coral is absent
	w.pass(tellAbsent)
	w.look(k)
	w.wantNotices(amber.ID, "birch has ended", "coral has not read")
}

func TestASenderIsToldThatItsMessageIsRefused(t *testing.T) {
	t.Parallel()
	w, amber, birch := pair(t)
	w.send(amber, "birch", "x")
	k := owed.NewChecker(w.Registry)
	w.look(k)
	if err := w.Rang(t.Context(), birch.ID, wake.Ring{At: w.clock, Method: "socket", Outcome: wake.Refused, Oldest: "x", From: "amber"}); err != nil {
		t.Fatal(err)
	}
	w.look(k)
	w.look(k)
	w.wantNotices(amber.ID, "is set to refuse messages")
	w.pass(owed.TellAfter)
	w.look(k)
	w.wantNotices(amber.ID, "refuse") // which says why it is not read
}

func TestASenderIsToldOfADeadLetter(t *testing.T) {
	t.Parallel()
	w, amber, _ := pair(t)
	w.send(amber, "birch", "x")
	w.ends(20)
	w.pass(time.Hour)
	for range 2 {
		if _, err := moves.Sweep(t.Context(), w.Registry, time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	w.wantNotices(amber.ID, "c2c history --dead shows")
}

func TestANoticeIsAnsweredByNoNotice(t *testing.T) {
	t.Parallel()
	w, amber, _ := pair(t)
	w.send(amber, "birch", "x")
	w.pass(owed.TellAfter)
	k := owed.NewChecker(w.Registry)
	w.look(k)
	w.ends(10)
	w.ends(20)
	for range 5 {
		w.pass(time.Hour)
		w.look(k)
	}
	if _, err := moves.Sweep(t.Context(), w.Registry, time.Minute); err != nil {
		t.Fatal(err)
	}
	if dead, err := owed.DeadLetters(w.Registry); err != nil || len(dead) != 1 {
		t.Errorf("dead letters %v, %v: want the message, and nothing of what was told of it", dead, err)
	}
	w.wantNotices(amber.ID)
}

// Who has written a hundred messages that nobody reads is not told a hundred times.
func TestASenderIsToldOfAFewOfItsMessages(t *testing.T) {
	t.Parallel()
	w, amber, _ := pair(t)
	for range 100 {
		w.send(amber, "birch", "x")
	}
	w.pass(owed.TellAfter)
	w.look(owed.NewChecker(w.Registry))
	told := w.notices(amber.ID)
	if len(told) != 1 || strings.Count(told[0], `"x" (`) != maxTold {
		t.Errorf("told %q, want one notice of %d messages", told, maxTold)
	}
}

func TestAnExpiredMessageIsHandedOverToNobody(t *testing.T) {
	t.Parallel()
	w, amber, birch := pair(t)
	w.send(amber, "birch", "first")
	m := mail.Message{To: "birch", Content: "brief", ExpiresAt: mail.Seconds(w.clock.Add(time.Minute))}
	r, err := w.Send(t.Context(), amber, m)
	if err != nil {
		t.Fatal(err)
	}
	w.send(amber, "birch", "last")
	w.wantMail(birch.ID, "first", "brief", "last")
	w.pass(time.Minute)
	w.wantMail(birch.ID, "first", "last") // before anybody has looked after it
	k := owed.NewChecker(w.Registry)
	w.look(k)
	if all, err := w.box(birch.ID).PeekAll(t.Context()); err != nil || len(all) != 2 {
		t.Errorf("left are %v, %v", all, err)
	}
	w.read(birch.ID)
	st, err := w.Status(t.Context(), r.ID)
	if err != nil || st.State != owed.Expired || len(st.Told) != 1 || st.Told[0].Reason != owed.Expired {
		t.Errorf("status %+v, %v", st, err)
	}
	w.send(amber, "birch", "later")
	w.ends(20)
	w.register("birch", callers.Caller{Client: "gem", PID: w.pid(30)})
	w.wantMail(w.register("birch", callers.Caller{Client: "gem", PID: w.pid(30)}).ID, "later") // and no dead letter comes back
}

// A reader that has leased a message before it expired hands it over, and its sender hears nothing.
func TestAMessageThatExpiresInAReadersHandsIsRead(t *testing.T) {
	t.Parallel()
	w, amber, birch := pair(t)
	r, err := w.Send(t.Context(), amber, mail.Message{To: "birch", Content: "brief", ExpiresAt: mail.Seconds(w.clock.Add(time.Minute))})
	if err != nil {
		t.Fatal(err)
	}
	box, err := w.Mailbox(birch.ID)
	if err != nil {
		t.Fatal(err)
	}
	l, err := box.Lease(t.Context(), "test", 1<<20)
	if err != nil || len(l.Messages) != 1 {
		t.Fatalf("leased %v, %v", l, err)
	}
	w.pass(time.Hour)
	w.look(owed.NewChecker(w.Registry))
	if err := l.Ack(t.Context(), inbox.Handles(l.Messages)...); err != nil {
		t.Fatal(err)
	}
	w.look(owed.NewChecker(w.Registry))
	w.wantNotices(amber.ID)
	if st, err := w.Status(t.Context(), r.ID); err != nil || st.State != sessions.Read {
		t.Errorf("status %+v, %v", st, err)
	}
}

func TestNobodyIsC2CItself(t *testing.T) {
	t.Parallel()
	w, amber, _ := pair(t)
	for _, alias := range []string{"c2c-system", "C2C-System"} {
		if _, err := w.Register(t.Context(), callers.Caller{Client: "gem", PID: w.pid(30)}, alias); err == nil {
			t.Errorf("%s is somebody's alias", alias)
		}
		if _, err := w.Send(t.Context(), sessions.Session{ID: "x", Alias: alias}, mail.Message{To: "amber", Content: "x"}); err == nil {
			t.Errorf("sent as %s", alias)
		}
		if _, err := w.Send(t.Context(), amber, mail.Message{To: alias, Content: "x"}); err == nil || !strings.Contains(err.Error(), "nothing to answer") {
			t.Errorf("sent to %s: %v", alias, err)
		}
	}
}

func TestManyWhoLookAtOnceTellOnce(t *testing.T) {
	t.Parallel()
	w, amber, birch := pair(t)
	w.send(amber, "birch", "x")
	if _, err := w.Send(t.Context(), amber, mail.Message{To: "birch", Content: "y", ExpiresAt: mail.Seconds(w.clock.Add(time.Minute))}); err != nil {
		t.Fatal(err)
	}
	w.pass(owed.TellAfter)
	w.lookAtOnce(8)
	if texts := w.notices(amber.ID); len(texts) != 2 {
		t.Errorf("notices %q", texts)
	}
	w.wantMail(birch.ID, "x")
	if dead, err := owed.DeadLetters(w.Registry); err != nil || len(dead) != 1 {
		t.Errorf("dead letters %v, %v", dead, err)
	}
}

// If a suspended process holds a lock, each failed look waits for some seconds, and meanwhile no
// other deadline is checked.
func TestAFailedLookIsRepeatedOnlyAfterAWhile(t *testing.T) {
	t.Parallel()
	for name, fails := range map[string]func(w *world, amber, birch sessions.Session) (mend func(), done func() bool){
		"at a mailbox": func(w *world, amber, birch sessions.Session) (func(), func() bool) {
			w.put(amber, "birch", mail.Message{Content: "x", ExpiresAt: mail.Seconds(w.clock)})
			return w.hide(birch.ID + ".inbox.json"), func() bool { return len(w.notices(amber.ID)) > 0 }
		},
		"at an outbox": func(w *world, amber, _ sessions.Session) (func(), func() bool) {
			outbox := sessions.HostPrefix + "laptop"
			m := mail.Message{From: "amber", To: "cedar@laptop", Content: "x", TS: mail.Seconds(w.clock), ExpiresAt: mail.Seconds(w.clock)}
			m.FromSession = amber.ID
			if _, err := w.box(outbox).Deliver(t.Context(), m); err != nil {
				t.Fatal(err)
			}
			return w.hide(outbox + ".inbox.json"), func() bool { return len(w.notices(amber.ID)) > 0 }
		},
		"to tell a sender": func(w *world, amber, _ sessions.Session) (func(), func() bool) {
			w.send(amber, "birch", "x")
			w.pass(time.Hour)
			return w.block(amber.ID), func() bool { return len(w.notices(amber.ID)) > 0 }
		},
		"at a record": func(w *world, amber, birch sessions.Session) (func(), func() bool) {
			w.put(amber, "birch", mail.Message{Kind: "question", AnswerBy: mail.Seconds(w.clock.Add(time.Second))})
			w.pass(time.Second)
			return w.block(amber.ID), func() bool { return len(w.waiting(amber.ID)) > 0 }
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, amber, birch := pair(t)
			k := owed.NewChecker(w.Registry)
			mend, done := fails(w, amber, birch)
			if wait := w.look(k); wait != retryAfter {
				t.Errorf("looks again after %v", wait)
			}
			mend()
			if w.look(k); done() {
				t.Error("the next look has tried again")
			}
			w.pass(retryAfter)
			if w.look(k); !done() {
				t.Error("no look has tried again")
			}
		})
	}
}

// hide puts a directory in the place of a file, which then cannot be read.
func (w *world) hide(name string) (unhide func()) {
	w.t.Helper()
	path := filepath.Join(w.Root(), name)
	aside := filepath.Join(w.t.TempDir(), name)
	if err := errors.Join(os.Rename(path, aside), os.Mkdir(path, 0o700)); err != nil {
		w.t.Fatal(err)
	}
	return func() {
		if err := errors.Join(os.Remove(path), os.Rename(aside, path)); err != nil {
			w.t.Fatal(err)
		}
	}
}

func TestWhoRepeatsWhatHasExpiredIsTold(t *testing.T) {
	t.Parallel()
	w, amber, birch := pair(t)
	m := mail.Message{To: "birch", ID: "once", Content: "x", ExpiresAt: mail.Seconds(w.clock.Add(time.Minute))}
	for _, want := range []string{"", "expired"} {
		r, err := w.Send(t.Context(), amber, m)
		if err != nil || r.Duplicate != (want != "") || !strings.Contains(r.Note, want) {
			t.Errorf("%+v, %v", r, err)
		}
		w.pass(time.Minute)
	}
	w.read(birch.ID)
	w.wantMail(birch.ID)
}

// What its sender does not want to hear of takes no place of what it wants to hear of.
func TestWhatIsNotToldTakesNoPlaceOfWhatIs(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]struct {
		lost func(w *world)
		told string
	}{
		"expired": {func(w *world) { w.look(owed.NewChecker(w.Registry)) }, "has expired"},
		"swept": {func(w *world) {
			w.ends(20)
			for range 2 {
				if _, err := moves.Sweep(w.t.Context(), w.Registry, time.Minute); err != nil {
					w.t.Fatal(err)
				}
			}
		}, "Nobody has read your message"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, amber, _ := pair(t)
			m := mail.Message{To: "birch", Content: "x"}
			if name == "expired" {
				m.ExpiresAt = mail.Seconds(w.clock.Add(time.Minute))
			}
			for i := range maxTold + 2 {
				m.Kind = "status"
				if i > maxTold {
					m.Kind = "question"
				}
				if _, err := w.Send(t.Context(), amber, m); err != nil {
					t.Fatal(err)
				}
			}
			w.pass(time.Hour)
			end.lost(w)
			w.wantNotices(amber.ID, end.told)
		})
	}
}

// Each c2c list looks where no server does: what was told costs no second commit.
func TestWhoLooksOnceAgainTellsNothingAgain(t *testing.T) {
	t.Parallel()
	w, amber, _ := pair(t)
	w.send(amber, "birch", "x")
	w.pass(owed.TellAfter)
	w.once()
	w.wantNotices(amber.ID, "has not read")
	lease := filepath.Join(w.Root(), amber.ID+".lease") // which each delivery makes sure of
	if err := os.Remove(lease); err != nil {
		t.Fatal(err)
	}
	w.once()
	if _, err := os.Stat(lease); err == nil {
		t.Error("the notice was delivered once more")
	}
}

// A refusal is of the mail that was rung for.
func TestARefusalOfOtherMailIsToldToNobody(t *testing.T) {
	t.Parallel()
	w, amber, birch := pair(t)
	refused := wake.Ring{At: w.clock, Method: wake.BySocket, Outcome: wake.Refused}
	w.rang(birch.ID, refused)
	w.pass(time.Second)
	w.send(amber, "birch", "younger")
	k := owed.NewChecker(w.Registry)
	w.look(k)
	w.wantNotices(amber.ID)
	w.read(birch.ID)
	if _, err := w.Send(t.Context(), amber, mail.Message{To: "birch", Content: "rings nobody", Deferrable: true}); err != nil {
		t.Fatal(err)
	}
	w.pass(time.Second)
	refused.At = w.clock
	w.rang(birch.ID, refused)
	w.look(k)
	w.wantNotices(amber.ID)
}

func TestOfAnEphemeralMessageThatExpiresNoWordIsKept(t *testing.T) {
	t.Parallel()
	w, amber, _ := pair(t)
	m := mail.Message{To: "birch", Content: "secret", Ephemeral: true, ExpiresAt: mail.Seconds(w.clock.Add(time.Minute))}
	if _, err := w.Send(t.Context(), amber, m); err != nil {
		t.Fatal(err)
	}
	w.pass(time.Minute)
	w.look(owed.NewChecker(w.Registry))
	if dead, err := owed.DeadLetters(w.Registry); err != nil || len(dead) != 1 || dead[0].Message.Content != "" {
		t.Errorf("dead letters %+v, %v", dead, err)
	}
}

// A mailbox that cannot be read is logged once, and once more if it could be read in between.
func TestAMailboxThatCannotBeReadIsLoggedOnce(t *testing.T) {
	t.Parallel()
	w, amber, birch := pair(t)
	w.send(amber, "birch", "x")
	box, err := w.Mailbox(birch.ID)
	if err != nil {
		t.Fatal(err)
	}
	l, err := box.Lease(t.Context(), "test", 1) // from now on the archive tells what this reader had
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	w.logs(slog.NewTextHandler(&log, nil))
	archive := filepath.Join(w.Root(), "archive", birch.ID+".jsonl")
	k := owed.NewChecker(w.Registry)
	for times := 1; times <= 2; times++ {
		if err := os.MkdirAll(archive, 0o700); err != nil {
			t.Fatal(err)
		}
		w.send(amber, "birch", "more")
		for range 5 {
			w.pass(retryAfter + time.Second)
			w.look(k)
		}
		if got := strings.Count(log.String(), "deadlines of a mailbox could not be checked"); got != times {
			t.Errorf("logged %d times, want %d: %s", got, times, &log)
		}
		if err := os.Remove(archive); err != nil {
			t.Fatal(err)
		}
		w.pass(retryAfter + time.Second)
		w.look(k)
	}
}

// The steps by which a message expires, each of which may be the last of a killed process: the next
// one completes them.
func TestAnExpiryIsResumedWhereItWasKilled(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]func(w *world, k *owed.Checker, m mail.Message) error{
		"before it began": func(*world, *owed.Checker, mail.Message) error { return nil },
		"behind the dead letter": func(w *world, _ *owed.Checker, m mail.Message) error {
			return owed.AddDead(w.t.Context(), w.Registry, "birch", owed.DeadLetter{Reason: owed.Expired, Message: m})
		},
		"behind the notice": func(w *world, k *owed.Checker, m mail.Message) error {
			if err := owed.AddDead(w.t.Context(), w.Registry, "birch", owed.DeadLetter{Reason: owed.Expired, Message: m}); err != nil {
				return err
			}
			rows, err := w.Rows(w.t.Context())
			if err != nil {
				return err
			}
			owed.TellSenders(w.t.Context(), w.Registry, w.Authors(rows), []owed.News{{Message: m, Reason: owed.Expired}})
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			amber := w.register("amber", callers.Caller{PID: w.pid(10)})
			w.register("birch", callers.Caller{Explicit: "birch", PID: w.pid(20)})
			if _, err := w.Send(t.Context(), amber, mail.Message{To: "birch", Content: "x", ExpiresAt: mail.Seconds(w.clock.Add(time.Minute))}); err != nil {
				t.Fatal(err)
			}
			w.pass(time.Hour)
			msgs, err := w.box("birch").PeekAll(t.Context())
			if err != nil || len(msgs) != 1 {
				t.Fatalf("%v, %v", msgs, err)
			}
			if err := before(w, owed.NewChecker(w.Registry), msgs[0]); err != nil {
				t.Fatal(err)
			}
			w.pass(time.Second)
			w.look(owed.NewChecker(w.Registry))
			if left, err := w.box("birch").PeekAll(t.Context()); err != nil || len(left) != 0 {
				t.Errorf("left are %v, %v", left, err)
			}
			if dead, err := owed.DeadLetters(w.Registry); err != nil || len(dead) != 1 || dead[0].Reason != owed.Expired {
				t.Errorf("dead letters %v, %v", dead, err)
			}
			w.wantNotices(amber.ID, "has expired")
		})
	}
}

// A command acts on what is due only where no server does that all the time.
func TestOneKeepsAtATime(t *testing.T) {
	t.Parallel()
	w, amber, _ := pair(t)
	w.send(amber, "birch", "x")
	w.pass(owed.TellAfter)
	release := w.keeping()
	if err := owed.NewChecker(w.Registry).LookOnce(t.Context()); err != nil {
		t.Error(err)
	}
	w.wantNotices(amber.ID)
	release()
	if err := owed.NewChecker(w.Registry).LookOnce(t.Context()); err != nil {
		t.Error(err)
	}
	w.wantNotices(amber.ID, "has not read")
}

// Two that look at once may find other words: it was told all the same. And of a message of another
// program, whose id is no name, its sender is told, too.
func TestANoticeInOtherWordsAndOfAnOddMessage(t *testing.T) {
	t.Parallel()
	w, amber, birch := pair(t)
	odd := strings.Repeat("x", 200)
	plant := fmt.Sprintf(`[{"from_alias":"amber","to_alias":"birch","content":"hello","ts":%f,"message_id":"%s"}]`, mail.Seconds(w.clock), odd)
	w.pass(time.Hour)
	if err := w.Dir().Write(birch.ID+".inbox.json", []byte(plant)); err != nil {
		t.Fatal(err)
	}
	w.look(owed.NewChecker(w.Registry))
	w.wantNotices(amber.ID, `birch has not read your message "hello"`)
	rows, err := w.Rows(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	m := mail.Message{From: "amber", To: "birch", ID: odd}
	if err := owed.TellSender(t.Context(), w.Registry, w.Authors(rows), owed.News{Message: m, Reason: owed.Unread}); err != nil { // without the words of the message
		t.Error(err)
	}
	w.wantNotices(amber.ID, "has not read")
}
