// This is the world of the few tests that stop a send or a question between two of its steps. What users see is tested in
// package broker_test.

package broker

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"c2c/broker/deadlines"
	"c2c/broker/moves"
	"c2c/client"
	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/sessions"
	"c2c/sessions/callers"
	"c2c/sessions/processes"
	"c2c/sessions/turns"
)

// table is a process table in memory; the test itself is process 100, child of 90.
type table map[int]processes.Process

func (t table) Self() int { return 100 }

func (t table) Environ(int) []string { return nil }

func (t table) Namespace() string { return "pid:[1]" }

func (t table) Opened(client.Profile, int) (map[string]bool, bool) { return nil, false }

func (t table) Find(pid int) (processes.Process, error) {
	if p, ok := t[pid]; ok {
		return p, nil
	}
	return processes.Process{}, processes.ErrNoProcess
}

// world is a broker with a clock and a process table that the test moves.
type world struct {
	*Broker
	cfg     Config
	t       testing.TB
	clock   time.Time
	table   table
	started int
}

func newWorld(t testing.TB) *world { return newWorldOf(t, Config{}) }

// newWorldOf gives a world whose broker has more in its configuration.
func newWorldOf(t testing.TB, cfg Config) *world {
	t.Helper()
	w := &world{t: t, clock: time.Now(), table: table{
		100: {PID: 100, Parent: 90, Start: 7}, 90: {PID: 90, Parent: 1, Start: 6},
		10: {PID: 10, Parent: 1, Start: 1}, 20: {PID: 20, Parent: 1, Start: 2}, 30: {PID: 30, Parent: 1, Start: 3},
	}}
	cfg.Root, cfg.Now = filepath.Join(t.TempDir(), "broker"), func() time.Time { return w.clock }
	w.cfg = cfg
	w.reopen()
	return w
}

// reopen has the broker use what the test has changed in its configuration.
func (w *world) reopen() {
	w.t.Helper()
	b, err := Open(w.cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { b.Close() })
	b.Processes = w.table
	w.Broker = b
}

// pid gives the process of a number.
func (w *world) pid(n int) int { return n }

// starts starts a process, or another one in the place of one that has ended.
func (w *world) starts(n int) {
	w.started++
	w.table[n] = processes.Process{PID: n, Parent: 1, Start: int64(1000 + w.started)}
}

// opens has a process of Codex hold the lock of a thread that it has open, from its next start on.
func (w *world) opens(int, string) {}

// ends takes processes away. Their sessions are absent then.
func (w *world) ends(numbers ...int) {
	for _, n := range numbers {
		delete(w.table, n)
	}
}

func (w *world) attach(c callers.Caller) sessions.Session {
	w.t.Helper()
	s, err := w.Attach(context.Background(), c)
	if err != nil {
		w.t.Fatalf("attach %+v: %v", c, err)
	}
	return s
}

func (w *world) register(alias string, c callers.Caller) sessions.Session {
	w.t.Helper()
	if c.Client == "" && c.Explicit == "" && c.PID == 0 {
		c.Client = "gem" // nobody has no session
	}
	s, err := w.Register(context.Background(), c, alias)
	if err != nil {
		w.t.Fatalf("register %q: %v", alias, err)
	}
	return s
}

func (w *world) send(from sessions.Session, to, body string) Receipt {
	w.t.Helper()
	r, err := w.Send(context.Background(), from, mail.Message{To: to, Content: body})
	if err != nil {
		w.t.Fatalf("send to %q: %v", to, err)
	}
	return r
}

func (w *world) wantMail(sid string, want ...string) {
	w.t.Helper()
	box, err := w.Mailbox(sid)
	if err != nil {
		w.t.Fatal(err)
	}
	waiting, err := box.Peek(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	var bodies []string
	for _, m := range waiting {
		bodies = append(bodies, m.Content)
	}
	if got := strings.Join(bodies, "|"); got != strings.Join(want, "|") {
		w.t.Errorf("mail of %s: %q, want %q", sid, got, want)
	}
}

func (w *world) file(name string) string {
	w.t.Helper()
	data, err := os.ReadFile(filepath.Join(w.Root(), name))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(data)
}

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

func (w *world) look(k *deadlines.Checker) time.Duration {
	w.t.Helper()
	wait, err := k.Look(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	return wait
}

func (w *world) pass(d time.Duration) { w.clock = w.clock.Add(d) }

// pair is amber, who writes to birch. Both live.
func pair(t *testing.T) (w *world, amber, birch sessions.Session) {
	w = newWorld(t)
	w.opens(20, "b")
	return w, w.register("amber", callers.Caller{Client: "claude", ClientID: "a", PID: w.pid(10)}), w.register("birch", callers.Caller{Client: "codex", ClientID: "b", PID: w.pid(20)})
}

// put sends a message of any kind.
func (w *world) put(from sessions.Session, to string, m mail.Message) Receipt {
	w.t.Helper()
	if m.To = to; m.Content == "" {
		m.Content = "which port"
	}
	r, err := w.Send(context.Background(), from, m)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// block puts a file where a mailbox needs its lease directory: nothing can be taken out of it, or delivered to it.
func (w *world) block(sid string) (unblock func()) {
	w.t.Helper()
	path := filepath.Join(w.Root(), sid+".lease")
	if err := os.RemoveAll(path); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		w.t.Fatal(err)
	}
	return func() {
		if err := os.Remove(path); err != nil {
			w.t.Fatal(err)
		}
	}
}

// answer answers what Received finds, or the last message when typed is "".
func (w *world) answer(s sessions.Session, typed string) (Receipt, error) {
	w.t.Helper()
	find := func(ctx context.Context) (mail.Message, error) { return w.Received(ctx, s, typed) }
	if typed == "" {
		find = func(ctx context.Context) (mail.Message, error) { return w.LastReceived(ctx, s) }
	}
	m, err := find(context.Background())
	if err != nil {
		return Receipt{}, err
	}
	return w.Reply(context.Background(), s, m, mail.Message{Content: "the answer"})
}

// absentHolder gives a world in which "old" held the alias birch, is gone, and has mail from amber.
func absentHolder(t *testing.T, bodies ...string) (w *world, amber sessions.Session) {
	t.Helper()
	w = newWorld(t)
	amber = w.register("amber", callers.Caller{Explicit: "amber", PID: w.pid(10)})
	w.register("birch", callers.Caller{Explicit: "old", PID: w.pid(20)})
	for _, body := range bodies {
		w.send(amber, "birch", body)
	}
	w.ends(20)
	return w, amber
}

func (w *world) heir() callers.Caller { return callers.Caller{Explicit: "heir", PID: w.pid(30)} }

func (w *world) box(sid string) *inbox.Mailbox {
	w.t.Helper()
	box, err := w.Mailbox(sid)
	if err != nil {
		w.t.Fatal(err)
	}
	return box
}

// waiting is all that waits for a session.
func (w *world) waiting(sid string) []mail.Message {
	w.t.Helper()
	all, err := w.box(sid).PeekAll(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	return all
}

// read is a hook that hands over all mail of a session.
func (w *world) read(sid string) {
	w.t.Helper()
	l, err := w.box(sid).Lease(context.Background(), "hook", 1<<30)
	if err == nil {
		err = l.Ack(context.Background(), inbox.Handles(l.Messages)...)
	}
	if err != nil {
		w.t.Fatalf("read the mail of %s: %v", sid, err)
	}
}

// moves gives the mailboxes whose mail is still to come to a session, as its facts say.
func (w *world) moves(sid string) (from []string, err error) {
	data, err := os.ReadFile(filepath.Join(w.Root(), "sessions", sid+".json"))
	if err != nil {
		return nil, err
	}
	f := struct {
		MoveFrom []string `json:"move_from"`
	}{}
	err = json.Unmarshal(data, &f)
	return f.MoveFrom, err
}

func (w *world) wantMoves(sid string, want ...string) {
	w.t.Helper()
	moves, err := w.moves(sid)
	if got := strings.Join(moves, "|"); err != nil || got != strings.Join(want, "|") {
		w.t.Errorf("to be moved to %s: %q, %v; want %q", sid, got, err, want)
	}
}

// unused is a session that was asked and has ended, and was not used for some days.
func unused(t *testing.T, days int) (w *world, birch sessions.Session) {
	w, amber, birch := pair(t)
	w.put(amber, "birch", mail.Message{Kind: "question", Content: "what it read"})
	w.read(birch.ID)
	if err := errors.Join(turns.SawWork(w.Registry, birch.ID, true), turns.ExpectAnswers(w.Registry, birch.ID), turns.SawAnswer(w.Registry, birch.ID, time.Time{})); err != nil {
		t.Fatal(err)
	}
	w.ends(20)
	w.pass(time.Duration(days) * 24 * time.Hour)
	return w, birch
}

func (w *world) tidied() {
	w.t.Helper()
	defer w.keeping()()
	if err := w.Dir().Touch(deadlines.LockName, w.clock.Add(-2*moves.TidyEvery)); err != nil {
		w.t.Fatal(err)
	}
	w.look(deadlines.NewChecker(w.Registry))
}

// keeping takes the right to act on what messages are owed, as a server does.
func (w *world) keeping() (release func()) {
	w.t.Helper()
	lock, err := deadlines.OpenLock(w.Registry)
	if err != nil {
		w.t.Fatal(err)
	}
	if ok, err := lock.Try(); err != nil || !ok {
		w.t.Fatal(ok, err)
	}
	return func() {
		if err := lock.Release(); err != nil {
			w.t.Error(err)
		}
	}
}
