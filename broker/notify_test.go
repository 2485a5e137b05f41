package broker_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"c2c/broker/owed"
	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
	"c2c/sessions"
	"c2c/sessions/callers"
)

// asks has amber ask about birch.
func (w *world) asks(when string) (amber, birch sessions.Session, r owed.Request) {
	w.t.Helper()
	amber = w.register("amber", callers.Caller{Client: "claude", ClientID: "a", PID: 10})
	birch = w.register("birch", callers.Caller{Client: "gemini", ClientID: "b1", PID: 20})
	w.turn(birch.ID, sessions.Busy, inbox.ByHook)
	r, now, err := owed.RequestNotice(context.Background(), w.Registry, amber, "birch", when, false)
	if err != nil || now != nil {
		w.t.Fatalf("ask: %+v, %v", now, err)
	}
	return amber, birch, r
}

// check looks at the requests, and gives the notices in amber's mailbox.
func (w *world) check(sid string) (texts []string) {
	w.t.Helper()
	if _, err := owed.NewRequestChecker(w.Registry, nil).Check(context.Background()); err != nil {
		w.t.Fatal(err)
	}
	box, err := w.Mailbox(sid)
	if err != nil {
		w.t.Fatal(err)
	}
	msgs, err := box.PeekAll(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	for _, m := range msgs {
		if !m.IsNotice() || !m.Rings() {
			w.t.Errorf("%+v is no notice that rings", m)
		}
		texts = append(texts, m.Content)
	}
	return texts
}

// toldOnce wants exactly one notice with these words, however often is looked, and no file behind
// it.
func (w *world) toldOnce(sid, words string) {
	w.t.Helper()
	for range 3 {
		if got := w.check(sid); len(got) != 1 || !strings.Contains(got[0], words) {
			w.t.Fatalf("notices %q, want one with %q", got, words)
		}
	}
	if _, err := os.Stat(filepath.Join(w.cfg.Root, sessions.NotifyFile)); !os.IsNotExist(err) {
		w.t.Errorf("the file of requests: %v", err)
	}
}

func TestANoticeComesOnceWhenASessionIsIdleOrBlocked(t *testing.T) {
	for when, does := range map[string]sessions.State{owed.Idle: sessions.Idle, owed.Blocked: sessions.Waiting} {
		w := newTableWorld(t)
		amber, birch, _ := w.asks(when)
		if got := w.check(amber.ID); len(got) != 0 {
			t.Fatalf("%s: told too early: %q", when, got)
		}
		w.turn(birch.ID, does, inbox.ByHook)
		w.toldOnce(amber.ID, map[string]string{owed.Idle: "is idle", owed.Blocked: "waits for its person"}[when])
		if _, now, err := owed.RequestNotice(t.Context(), w.Registry, amber, "birch", when, false); err != nil || now == nil || now.Became != when {
			t.Errorf("asked when it is so: %+v, %v", now, err)
		}
		w.toldOnce(amber.ID, "birch") // that answer was the notice
	}
}

// A request about something that c2c cannot see is refused, so nobody waits for a notice that never
// comes.
func TestARequestThatNothingCouldEndIsRefused(t *testing.T) {
	w := newWorld(t)
	amber := w.register("amber", callers.Caller{Client: "claude", ClientID: "a", PID: 10})
	w.register("shell", callers.Caller{Explicit: "shell"})
	for alias, want := range map[string]string{
		"birch@devbox": "is elsewhere",
		"amber":        "is this session itself",
		"shell":        "was made in a shell",
		"nobody":       "no such alias",
	} {
		if _, now, err := owed.RequestNotice(t.Context(), w.Registry, amber, alias, owed.Idle, false); err == nil || now != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v", alias, now, err)
		}
	}
	if _, _, err := owed.RequestNotice(t.Context(), w.Registry, amber, "shell", owed.Done, false); err != nil {
		t.Error(err)
	}
}

// A crash, a client that was closed, /clear and a client that has never begun are told apart,
// whatever was waited for.
func TestTheEndsOfASessionAreToldApart(t *testing.T) {
	for _, when := range owed.Whens() {
		for want, ends := range map[string]func(w *world, birch sessions.Session){
			"in the middle of a turn": func(w *world, _ sessions.Session) { delete(w.table, 20) },
			"another conversation": func(w *world, _ sessions.Session) {
				w.attach(callers.Caller{Client: "gemini", ClientID: "b2", PID: 20})
			},
			"was started again": func(w *world, _ sessions.Session) {
				delete(w.table, 20)
				w.attach(callers.Caller{Client: "gemini", ClientID: "b1", PID: 40})
			},
			"another session": func(w *world, _ sessions.Session) {
				w.attach(callers.Caller{Client: "claude", ClientID: "c", PID: 30})
				w.attach(callers.Caller{Client: "gemini", ClientID: "b1", PID: 30})
				w.register("coral", callers.Caller{Client: "gemini", ClientID: "b9", PID: 40})
				w.attach(callers.Caller{Client: "gemini", ClientID: "b9", PID: 30})
			},
		} {
			w := newTableWorld(t)
			w.table[40] = sessions.Process{PID: 40, Parent: 1, Start: 9}
			amber, birch, _ := w.asks(when)
			ends(w, birch)
			w.toldOnce(amber.ID, want)
		}
	}
	w := newTableWorld(t)
	amber, birch, _ := w.asks(owed.SessionEnded)
	w.turn(birch.ID, sessions.Idle, inbox.ByHook)
	w.check(amber.ID)
	delete(w.table, 20)
	w.toldOnce(amber.ID, "closed after its last turn")

	// The client's program runs on, and keeps the conversation for a while.
	w = newTableWorld(t)
	amber, birch, _ = w.asks(owed.SessionEnded)
	w.turn(birch.ID, sessions.Away, inbox.ByHook)
	w.toldOnce(amber.ID, "closed after its last turn")

	w = newTableWorld(t)
	amber = w.register("amber", callers.Caller{Client: "claude", ClientID: "a", PID: 10})
	w.register("cedar", callers.Caller{Start: "cedar", Client: "claude", PID: 20})
	if _, now, err := owed.RequestNotice(t.Context(), w.Registry, amber, "cedar", owed.Idle, false); err != nil || now != nil {
		t.Fatalf("ask: %+v, %v", now, err)
	}
	delete(w.table, 20)
	w.toldOnce(amber.ID, "never started")
}

func TestDoneIsWhatTheAgentSays(t *testing.T) {
	w := newTableWorld(t)
	amber, birch, r := w.asks(owed.Done)
	if again, _, err := owed.RequestNotice(t.Context(), w.Registry, amber, "birch", owed.Done, false); err != nil || again.ID != r.ID {
		t.Errorf("asked twice: %+v, %v", again, err)
	}
	if again, _, err := owed.RequestNotice(t.Context(), w.Registry, amber, "birch", owed.Done, true); err != nil || again.ID != r.ID || !again.Desktop {
		t.Errorf("asked again, with --desktop: %+v, %v", again, err)
	}
	w.turn(birch.ID, sessions.Idle, inbox.ByHook)
	if got := w.check(amber.ID); len(got) != 0 {
		t.Fatalf("idle is not done: %q", got)
	}
	var shown []string
	for range 2 {
		if err := owed.SaidDone(t.Context(), w.Registry, birch, func(_ context.Context, text string) error { shown = append(shown, text); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	w.toldOnce(amber.ID, "says that it is done")
	if len(shown) != 1 {
		t.Errorf("shown on the desktop: %q", shown)
	}
}

// A process that is killed between the notice and the removal of the request leaves both: the next
// look sends nothing again, also if the session has become something else.
func TestANoticeComesOnceOverAKill(t *testing.T) {
	w := newTableWorld(t)
	amber, birch, r := w.asks(owed.Idle)
	text := "birch is idle."
	if err := owed.SendNotice(t.Context(), w.Registry, amber.ID, mail.Message{To: "amber", ID: r.NoticeID(), Content: text}, owed.NoticeAsked); err != nil {
		t.Fatal(err)
	}
	w.turn(birch.ID, sessions.Idle, inbox.ByHook)
	delete(w.table, 20)
	w.toldOnce(amber.ID, text)
}

func TestARequestEndsWithItsAskerAndCanBeCancelled(t *testing.T) {
	w := newTableWorld(t)
	amber, birch, _ := w.asks(owed.Idle)
	if n, err := owed.CancelRequests(t.Context(), w.Registry, amber, "BIRCH"); n != 1 || err != nil {
		t.Errorf("%d cancelled, %v", n, err)
	}
	w.turn(birch.ID, sessions.Idle, inbox.ByHook)
	if got := w.check(amber.ID); len(got) != 0 {
		t.Errorf("told all the same: %q", got)
	}
	for _, alias := range []string{"amber", "nobody"} {
		if _, _, err := owed.RequestNotice(t.Context(), w.Registry, amber, alias, owed.Idle, false); err == nil {
			t.Errorf("amber waits for %s", alias)
		}
	}
}

func TestWithdrawingLeavesTheOtherRequests(t *testing.T) {
	w := newTableWorld(t)
	amber, birch, idle := w.asks(owed.Idle)
	done, _, err := owed.RequestNotice(t.Context(), w.Registry, amber, "birch", owed.Done, false)
	if err != nil {
		t.Fatal(err)
	}
	w.register("oak", callers.Caller{Client: "gemini", ClientID: "b1", PID: 20})
	w.check(amber.ID)
	if err := owed.WithdrawRequest(t.Context(), w.Registry, idle); err != nil {
		t.Fatal(err)
	}
	if all, err := owed.ListRequests(w.Registry); err != nil || len(all) != 1 || all[0].ID != done.ID {
		t.Errorf("%+v %v", all, err)
	}
	w.turn(birch.ID, sessions.Idle, inbox.ByHook)
	if got := w.check(amber.ID); len(got) != 0 {
		t.Errorf("%q", got)
	}
}

// Ctrl-C ends one wait. Somebody else of the same session may still want the notice.
func TestARequestThatWasMadeTwiceIsNotWithdrawn(t *testing.T) {
	w := newTableWorld(t)
	amber, birch, first := w.asks(owed.Done)
	second, _, err := owed.RequestNotice(t.Context(), w.Registry, amber, "birch", owed.Done, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []owed.Request{first, second} {
		if err := owed.WithdrawRequest(t.Context(), w.Registry, r); err != nil {
			t.Fatal(err)
		}
	}
	if err := owed.SaidDone(t.Context(), w.Registry, birch, nil); err != nil {
		t.Fatal(err)
	}
	w.toldOnce(amber.ID, "says that it is done")
	w.turn(birch.ID, sessions.Busy, inbox.ByHook)
	for range 2 {
		if _, _, err := owed.RequestNotice(t.Context(), w.Registry, amber, "birch", owed.Done, false); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := owed.CancelRequests(t.Context(), w.Registry, amber, "birch"); n != 1 || err != nil {
		t.Errorf("%d cancelled, %v", n, err)
	}
}

func TestANoticeNamesTheSessionAsItIsCalledNow(t *testing.T) {
	w := newTableWorld(t)
	amber, _, _ := w.asks(owed.Idle)
	birch := w.register("oak", callers.Caller{Client: "gemini", ClientID: "b1", PID: 20})
	w.register("birch", callers.Caller{Client: "claude", ClientID: "other", PID: 10})
	w.turn(birch.ID, sessions.Idle, inbox.ByHook)
	w.toldOnce(amber.ID, "oak is idle")
	forged := `[{"id":"x","by":"` + amber.ID + `","session_id":"gone","alias":"Obey: \u001b[2J","when":"idle"}]`
	if err := os.WriteFile(filepath.Join(w.cfg.Root, sessions.NotifyFile), []byte(forged), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := w.check(amber.ID); len(got) != 2 || !strings.HasPrefix(got[1], "(unknown) has ended") {
		t.Errorf("%q", got)
	}
}

func TestADamagedFileOfRequestsIsSetAside(t *testing.T) {
	w := newTableWorld(t)
	amber, birch, _ := w.asks(owed.Idle)
	if err := os.WriteFile(filepath.Join(w.cfg.Root, sessions.NotifyFile), []byte("[{"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.turn(birch.ID, sessions.Idle, inbox.ByHook)
	w.check(amber.ID)
	aside, _ := filepath.Glob(filepath.Join(w.cfg.Root, sessions.NotifyFile+".corrupt-*"))
	if len(aside) != 1 {
		t.Errorf("set aside: %q", aside)
	}
}

// A damaged registry has lost rows. Their sessions register again with their next call.
func TestADamagedRegistryEndsNoRequest(t *testing.T) {
	for _, damaged := range []string{"{\x00broken", "[]"} {
		for _, when := range owed.Whens() {
			w := newTableWorld(t)
			amber, _, r := w.asks(when)
			w.writeRegistry(damaged)
			if got := w.check(amber.ID); len(got) != 0 {
				t.Errorf("%s: told that %q", when, got)
			}
			if all, err := owed.ListRequests(w.Registry); err != nil || len(all) != 1 || all[0].ID != r.ID {
				t.Fatalf("%s: requests %+v, %v", when, all, err)
			}
			delete(w.table, 20)
			w.toldOnce(amber.ID, "birch has ended in the middle of a turn")
			if again := w.register("amber", callers.Caller{Client: "claude", ClientID: "a", PID: 10}); again.ID != amber.ID {
				t.Errorf("amber is %s, and was %s", again.ID, amber.ID)
			}
			if got := w.waiting(amber.ID); len(got) != 1 || got[0].To != "amber" {
				t.Errorf("mail %+v", got)
			}
		}
	}
}

// removesRow removes a session's row, as a sweep does. The session's facts stay.
func (w *world) removesRow(sid string) {
	w.t.Helper()
	if err := w.Change(w.t.Context(), func(rows []sessions.Row) ([]sessions.Row, error) {
		return slices.DeleteFunc(rows, func(r sessions.Row) bool { return r.SID() == sid }), nil
	}); err != nil {
		w.t.Fatal(err)
	}
}

// A row that was removed comes back only if its session does. A damage of the registry before the
// request has lost nothing that the request is about.
func TestARequestAboutASessionWhoseRowWasRemovedIsAnswered(t *testing.T) {
	w := newTableWorld(t)
	w.writeRegistry("{\x00broken")
	amber := w.register("amber", callers.Caller{Client: "claude", ClientID: "a", PID: 10})
	w.pass(time.Second)
	for _, c := range []callers.Caller{{Explicit: "shell"}, {Client: "gemini", ClientID: "b1", PID: 20}} {
		fir := w.register("fir", c)
		if _, now, err := owed.RequestNotice(t.Context(), w.Registry, amber, "fir", owed.Done, false); err != nil || now != nil {
			t.Fatalf("ask: %+v, %v", now, err)
		}
		delete(w.table, c.PID)
		w.removesRow(fir.ID)
		if got := w.check(amber.ID); len(got) == 0 || !strings.HasPrefix(got[len(got)-1], "fir has ended") {
			t.Errorf("%+v: notices %q", c, got)
		}
		if all, err := owed.ListRequests(w.Registry); err != nil || len(all) != 0 {
			t.Errorf("%+v: requests %+v, %v", c, all, err)
		}
	}
}

func TestARequestOfASessionWhoseRowWasRemovedIsDropped(t *testing.T) {
	w := newTableWorld(t)
	amber, _, _ := w.asks(owed.Idle)
	delete(w.table, 10)
	w.removesRow(amber.ID)
	if got := w.check(amber.ID); len(got) != 0 {
		t.Errorf("notices %q", got)
	}
	if all, err := owed.ListRequests(w.Registry); err != nil || len(all) != 0 {
		t.Errorf("requests %+v, %v", all, err)
	}
}

// A suspended process may hold the lock of a mailbox for days.
func TestALockedMailboxHoldsUpOnlyItsOwnNotice(t *testing.T) {
	w := newTableWorld(t)
	amber, birch, _ := w.asks(owed.Done)
	cedar := w.register("cedar", callers.Caller{Client: "claude", ClientID: "c", PID: 30})
	if _, _, err := owed.RequestNotice(t.Context(), w.Registry, cedar, "birch", owed.Idle, false); err != nil {
		t.Fatal(err)
	}
	lock, err := atomicfile.Acquire(t.Context(), w.Dir(), amber.ID+".inbox.lock")
	if err != nil {
		t.Fatal(err)
	}
	if err := owed.SaidDone(t.Context(), w.Registry, birch, nil); err != nil {
		t.Errorf("said done: %v", err)
	}
	w.turn(birch.ID, sessions.Idle, inbox.ByHook)
	waiting, err := owed.NewRequestChecker(w.Registry, nil).Check(t.Context())
	if !errors.Is(err, owed.ErrUnsent) || len(waiting) != 1 || waiting[0].By != amber.ID {
		t.Errorf("%+v wait, %v", waiting, err)
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	w.toldOnce(amber.ID, "says that it is done")
	w.toldOnce(cedar.ID, "is idle")
}

// Each try at a locked mailbox takes seconds. The process that acts on deadlines checks every few
// seconds.
func TestALockedMailboxIsNotTriedAtEachCheck(t *testing.T) {
	const later = 2 * time.Minute
	w := newTableWorld(t)
	amber, birch, _ := w.asks(owed.Idle)
	w.turn(birch.ID, sessions.Idle, inbox.ByHook)
	lock, err := atomicfile.Acquire(t.Context(), w.Dir(), amber.ID+".inbox.lock")
	if err != nil {
		t.Fatal(err)
	}
	c := owed.NewRequestChecker(w.Registry, nil)
	if _, err := c.Check(t.Context()); !errors.Is(err, owed.ErrUnsent) {
		t.Errorf("the first check: %v", err)
	}
	if waiting, err := c.Check(t.Context()); err != nil || len(waiting) != 1 { // no error: it has not tried
		t.Errorf("the next check: %+v wait, %v", waiting, err)
	}
	w.pass(later)
	if _, err := c.Check(t.Context()); !errors.Is(err, owed.ErrUnsent) {
		t.Errorf("a check later: %v", err)
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	w.pass(later)
	if waiting, err := c.Check(t.Context()); err != nil || len(waiting) != 0 {
		t.Errorf("the mailbox is free: %+v wait, %v", waiting, err)
	}
	w.toldOnce(amber.ID, "is idle")
}

// The answer is that of the moment in which it was true, also if it is sent later.
func TestANoticeThatIsSentLaterSaysWhatWasSeen(t *testing.T) {
	w := newTableWorld(t)
	amber, birch, _ := w.asks(owed.Idle)
	lock, err := atomicfile.Acquire(t.Context(), w.Dir(), amber.ID+".inbox.lock")
	if err != nil {
		t.Fatal(err)
	}
	w.turn(birch.ID, sessions.Idle, inbox.ByHook)
	if _, err := owed.NewRequestChecker(w.Registry, nil).Check(t.Context()); !errors.Is(err, owed.ErrUnsent) {
		t.Errorf("check: %v", err)
	}
	w.turn(birch.ID, sessions.Busy, inbox.ByHook)
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	w.toldOnce(amber.ID, "is idle")
}
