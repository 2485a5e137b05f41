package broker_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"c2c/broker"
	"c2c/broker/moves"
	"c2c/broker/owed"
	"c2c/client"
	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/sessions"
	"c2c/sessions/callers"
	"c2c/wake"
)

// now is what a list says that a session does.
func (w *world) now(sid string) sessions.Now { return w.listed(sid).Now }

func (w *world) listed(sid string) sessions.Listed {
	w.t.Helper()
	rows, err := w.List(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	for _, r := range rows {
		if r.ID == sid {
			return r
		}
	}
	w.t.Fatalf("session %q is not listed", sid)
	return sessions.Listed{}
}

func (w *world) turn(sid string, does sessions.State, by string) {
	w.t.Helper()
	s, err := callers.Resolve(w.t.Context(), w.Registry, callers.Caller{Explicit: sid})
	if err == nil {
		err = w.SetTurn(w.t.Context(), s, does, by)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

func TestHooksTellWhatASessionDoesAndSinceWhen(t *testing.T) {
	w := newWorld(t)
	s := w.register("amber", callers.Caller{Client: "qwen", PID: w.pid(10)})
	if got := w.now(s.ID); got != (sessions.Now{Does: sessions.Alive, Known: sessions.ByProcess}) {
		t.Errorf("nobody has told anything: %+v", got)
	}
	for _, does := range []sessions.State{sessions.Busy, sessions.Busy, sessions.Waiting, sessions.Idle} {
		before := w.now(s.ID)
		w.clock = w.clock.Add(time.Minute)
		w.turn(s.ID, does, inbox.ByHook)
		want := sessions.Now{Does: does, Since: w.clock.UTC().Round(0), Known: inbox.ByHook}
		if before.Does == does {
			want.Since = before.Since // it is told at each tool call
		}
		if got := w.now(s.ID); got != want {
			t.Errorf("%s: %+v, want %+v", does, got, want)
		}
	}
	w.ends(10)
	if got := w.now(s.ID); got.Does != sessions.Absent {
		t.Errorf("its process has ended: %+v", got)
	}
}

// A resumed session has been idle no longer than its new process runs, also if the hooks of that
// process tell nothing new.
func TestATurnIsNoOlderThanTheProcess(t *testing.T) {
	w := newWorld(t)
	s := w.register("amber", callers.Caller{Client: "qwen", PID: w.pid(10)})
	w.turn(s.ID, sessions.Idle, inbox.ByHook)
	w.pass(time.Minute)
	w.ends(10)
	w.attach(callers.Caller{Explicit: s.ID, Client: "qwen", PID: w.pid(20)})
	w.turn(s.ID, sessions.Idle, inbox.ByHook)
	want := sessions.Now{Does: sessions.Idle, Since: w.clock.UTC().Round(0), Known: inbox.ByHook}
	if got := w.now(s.ID); got != want {
		t.Errorf("in the new process: %+v, want %+v", got, want)
	}
	w.pass(time.Minute)
	w.attach(callers.Caller{Explicit: s.ID, Client: "qwen", PID: w.pid(20)})
	if got := w.now(s.ID); got != want {
		t.Errorf("at a further call of that process: %+v, want %+v", got, want)
	}
}

// Who hears it from the client must live: what it has told last is true no longer than that.
func TestWhatARingerHasToldIsTrueWhileItLives(t *testing.T) {
	w := newWorld(t)
	s := w.register("cody", callers.Caller{Client: "codex", PID: w.pid(10)})
	w.turn(s.ID, sessions.Waiting, wake.ByServer)
	if got := w.now(s.ID); got.Does != sessions.Alive {
		t.Errorf("nobody rings it: %+v", got)
	}
	release, ok, err := w.Locks.BorrowRinging(s.ID)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	defer release()
	if got := w.now(s.ID); got.Does != sessions.Waiting || got.Known != wake.ByServer {
		t.Errorf("while its ringer lives: %+v", got)
	}
}

func TestAListTellsOfMail(t *testing.T) {
	w := newWorld(t)
	amber, birch := w.register("amber", callers.Caller{PID: w.pid(10)}), w.register("birch", callers.Caller{PID: w.pid(20)})
	if got := w.listed(birch.ID); got.Waiting || got.Count != 0 || !got.Oldest.IsZero() || !got.LastRead.IsZero() {
		t.Errorf("new: %+v", got)
	}
	began := w.clock
	for range 3 {
		w.send(amber, "birch", "x")
		w.clock = w.clock.Add(time.Minute)
	}
	if got := w.listed(birch.ID); !got.Waiting || got.Count != 3 || got.Oldest.Sub(began).Abs() > time.Millisecond {
		t.Errorf("3 wait since %v: %+v", began, got)
	}
	box, err := w.Mailbox(birch.ID)
	if err != nil {
		t.Fatal(err)
	}
	l, err := box.Lease(t.Context(), "test", 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if got := w.listed(birch.ID); got.Count != 0 {
		t.Errorf("a reader has them: %+v", got)
	}
	if err := l.Ack(t.Context(), inbox.Handles(l.Messages[:1])...); err != nil {
		t.Fatal(err)
	}
	if got := w.listed(birch.ID); got.Count != 2 || got.Oldest.Sub(began.Add(time.Minute)).Abs() > time.Millisecond || got.LastRead.Sub(w.clock).Abs() > time.Millisecond {
		t.Errorf("one was read at %v: %+v", w.clock, got)
	}
	if err := w.SetQuiet(t.Context(), birch.ID, true); err != nil {
		t.Fatal(err)
	}
	if got := w.listed(birch.ID); !got.Quiet {
		t.Errorf("do not disturb: %+v", got)
	}
}

func TestASenderIsToldWhatItsReceiverDoes(t *testing.T) {
	w := newWorld(t)
	amber := w.register("amber", callers.Caller{PID: w.pid(10)})
	birch := w.register("birch", callers.Caller{Client: "qwen", PID: w.pid(20)})
	for _, c := range []struct {
		does sessions.State
		note string
	}{
		{sessions.Idle, ""},
		{sessions.Busy, "birch is in a turn (3 min); its hook brings the message at the next tool call, or at the end of the turn"},
		{sessions.Waiting, "birch waits for its person (3 min); its model reads nothing until then"},
	} {
		w.turn(birch.ID, c.does, inbox.ByHook)
		w.clock = w.clock.Add(3*time.Minute + time.Second)
		if r := w.send(amber, "birch", "x"); r.Note != c.note || r.Now.Does != c.does || r.Recipient != sessions.Alive {
			t.Errorf("%s: %+v", c.does, r)
		}
	}
	w.ends(20)
	if r := w.send(amber, "birch", "x"); r.Note != "birch is absent; the message waits until it is back" || r.Recipient != sessions.Absent {
		t.Errorf("its client has ended: %+v", r)
	}
}

// Whatever the session does, its hook, server and plugin bring it nothing any more.
func TestASenderIsToldThatC2CWasTakenOutOfItsReceiversClient(t *testing.T) {
	w := newWorld(t)
	amber := w.register("amber", callers.Caller{PID: w.pid(10)})
	birch := w.register("birch", callers.Caller{Client: "qwen", PID: w.pid(20)})
	old, asked := w.pid(20), 0
	w.cfg.Uninstalled = func(client string, pid int) bool { asked++; return client == "qwen" && pid == old }
	w.reopen()
	for does, says := range map[sessions.State]string{sessions.Idle: "is idle", sessions.Busy: "is in a turn", sessions.Waiting: "waits for its person"} {
		w.turn(birch.ID, does, inbox.ByHook)
		want := "birch " + says + " (0 s); c2c was uninstalled while its client ran, so nothing brings it mail"
		if r := w.send(amber, "birch", "x"); r.Note != want {
			t.Errorf("%s: note %q, want %q", does, r.Note, want)
		}
	}
	w.ends(20)
	asked = 0
	if r := w.send(amber, "birch", "x"); r.Note != "birch is absent; the message waits until it is back" || asked > 0 {
		t.Errorf("its client has ended: note %q; c2c has looked %d times for what uninstall leaves", r.Note, asked)
	}
	w.starts(20)
	w.attach(callers.Caller{Explicit: birch.ID, Client: "qwen", PID: w.pid(20)})
	w.turn(birch.ID, sessions.Idle, inbox.ByHook)
	if r := w.send(amber, "birch", "x"); r.Note != "" {
		t.Errorf("its client was started after the uninstall: note %q", r.Note)
	}
	later, err := w.Send(t.Context(), amber, mail.Message{To: "birch", Content: "x", Deferrable: true})
	if err != nil || !strings.HasSuffix(later.Note, "wakes nobody: the next turn brings it") {
		t.Errorf("deferrable: note %q, %v", later.Note, err)
	}
}

// Nothing but a line in its terminal wakes such a session, and c2c types one only in a terminal or
// a pane of its own.
func TestASenderIsToldThatNothingRingsItsReceiver(t *testing.T) {
	for _, client := range []string{"gemini", "kimi", "qwen"} {
		w := newWorld(t)
		amber := w.register("amber", callers.Caller{PID: w.pid(10)})
		birch := w.register("birch", callers.Caller{Client: client, PID: w.pid(20)})
		note := func(what, want string) {
			t.Helper()
			if r := w.send(amber, "birch", "x"); r.Note != want {
				t.Errorf("%s, %s: note %q, want %q", client, what, r.Note, want)
			}
		}
		waits := func(state string) string {
			if client == "qwen" { // its server rings it
				return ""
			}
			return "birch " + state + "; c2c knows of nothing that rings it: its next turn brings the message"
		}
		w.rang(birch.ID, wake.Ring{Outcome: wake.Rang, Method: wake.ByTerminal})
		note("its state is not known", waits("runs"))
		w.turn(birch.ID, sessions.Idle, inbox.ByHook)
		note("idle", waits("is idle (0 s)"))
		w.bell(birch.ID)
		note("under c2c start", "")
		w.attach(callers.Caller{Explicit: birch.ID, Client: client, PID: w.starts(20)})
		note("started again", waits("is idle (0 s)"))
		if err := w.SetPane(t.Context(), birch.ID, "tmux:%0:/tmp/x"); err != nil {
			t.Fatal(err)
		}
		note("in an attached pane", "")
	}
}

// started are processes with a home of their own.
type started struct {
	sessions.ProcessTable
	home string
}

func (s started) Environ(int) []string {
	return []string{"HOME=/nowhere", "CLAUDE_CONFIG_DIR=" + s.home}
}

func TestWhatAClientWritesOfItselfComesFirst(t *testing.T) {
	w := newTableWorld(t)
	home := t.TempDir()
	w.Processes = started{w.table, home}
	s := w.register("amber", callers.Caller{Client: "claude", PID: w.pid(10)})
	w.turn(s.ID, sessions.Idle, inbox.ByHook)
	if err := os.Mkdir(filepath.Join(home, "sessions"), 0o700); err != nil {
		t.Fatal(err)
	}
	record := fmt.Sprintf(`{"pid":10,"status":"waiting","statusUpdatedAt":%d}`, w.clock.UnixMilli())
	if err := os.WriteFile(filepath.Join(home, "sessions", "10.json"), []byte(record), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := w.now(s.ID); got.Does != sessions.Waiting || got.Known != sessions.ByRecord || got.Since.UnixMilli() != w.clock.UnixMilli() {
		t.Errorf("%+v", got)
	}
}

// shared is a process that many sessions share, and which of them it has open.
type shared struct {
	sessions.ProcessTable
	open  map[string]bool
	asked *int // how often; nil: not counted
}

func (s shared) Opened(client.Profile, int) (map[string]bool, bool) {
	if s.asked != nil {
		*s.asked++
	}
	return s.open, s.open != nil
}

// To ask it costs a look at all processes, if one of its sessions has ended.
func TestASharedProcessIsAskedOnceForAllItsSessions(t *testing.T) {
	w := newTableWorld(t)
	ctx, asked, all := t.Context(), 0, []string{"amber", "birch", "cedar", "dune"}
	amber := w.register(all[0], callers.Caller{Client: "codex", ClientID: all[0], PID: w.pid(10)})
	for _, alias := range all[1:] {
		w.register(alias, callers.Caller{Client: "codex", ClientID: alias, PID: w.pid(10)})
		if _, err := w.Send(ctx, amber, mail.Message{To: alias, Content: "x", Kind: "question", AnswerBy: mail.Seconds(w.clock.Add(time.Hour))}); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := w.Rows(ctx)
	if err != nil {
		t.Fatal(err)
	}
	w.Processes = shared{w.table, map[string]bool{"amber": true}, &asked}
	for _, c := range []struct {
		name string
		most int
		look func() error
	}{
		{"list", 1, func() error { _, err := w.List(ctx); return err }},
		{"forget", 1, func() error { w.Idle(rows); return nil }},
		{"sweep", 1, func() error { _, err := moves.Stale(ctx, w.Registry, 0); return err }},
		{"obligations", 1, func() error { _, err := broker.Obligations(ctx, w.Registry, amber, false); return err }},
		{"deadlines", 2, func() error { _, err := owed.NewChecker(w.Registry).Look(ctx); return err }}, // it also tidies
	} {
		asked = 0
		if err := c.look(); err != nil || asked == 0 || asked > c.most {
			t.Errorf("%s: the process was asked %d times, %v", c.name, asked, err)
		}
	}
}

func TestASessionThatASharedProcessHasClosedIsAbsent(t *testing.T) {
	w := newTableWorld(t)
	s := w.attach(callers.Caller{Client: "codex", ClientID: "t1", PID: w.pid(10)})
	for _, c := range []struct {
		open map[string]bool
		want sessions.State
	}{{nil, sessions.Alive}, {map[string]bool{"t1": true}, sessions.Alive}, {map[string]bool{"t2": true}, sessions.Absent}, {map[string]bool{}, sessions.Absent}} {
		w.Processes = shared{w.table, c.open, nil}
		if got := w.listed(s.ID); got.State != c.want || *got.Alive != (c.want == sessions.Alive) {
			t.Errorf("open %v: %+v", c.open, got)
		}
	}
	release, err := w.Locks.Serve(s.ID)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if got := w.listed(s.ID); got.State != sessions.Alive {
		t.Errorf("its server runs: %+v", got)
	}
}

// A message was sent while the clock was ahead: its time counts as now, and nothing is told before
// its own time.
func TestAMessageFromTheFutureCountsAsOfNow(t *testing.T) {
	t.Parallel()
	const ahead = 30 * 24 * time.Hour
	w, amber, birch := pair(t)
	w.pass(ahead)
	w.put(amber, "birch", mail.Message{Content: "x", ExpiresAt: mail.Seconds(w.clock.Add(5 * time.Minute))})
	w.pass(-ahead)
	k := owed.NewChecker(w.Registry)
	if wait := w.look(k); wait <= 0 || wait > owed.TellAfter {
		t.Errorf("looks again after %v", wait)
	}
	w.wantNotices(amber.ID)
	w.wantMail(birch.ID, "x")
	w.pass(ahead + 5*time.Minute)
	w.look(k)
	w.wantNotices(amber.ID, "has expired")
}

// A ring that was recorded while the clock was ahead is not that of each later message.
func TestARingFromTheFutureIsForNoMessage(t *testing.T) {
	t.Parallel()
	for _, outcome := range []string{wake.Rang, wake.Refused} {
		w, amber, birch := pair(t)
		if err := w.Rang(t.Context(), birch.ID, wake.Ring{At: w.clock.Add(30 * 24 * time.Hour), Method: "socket", Outcome: outcome}); err != nil {
			t.Fatal(err)
		}
		r := w.put(amber, "birch", mail.Message{Content: "x"})
		if st, err := w.Status(t.Context(), r.ID); err != nil || st.State != sessions.Queued || !st.LastRing.At.IsZero() {
			t.Errorf("%s: status %+v, %v", outcome, st, err)
		}
		k := owed.NewChecker(w.Registry)
		if wait := w.look(k); wait > owed.TellAfter {
			t.Errorf("%s: looks again after %v", outcome, wait)
		}
	}
}
