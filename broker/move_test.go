package broker_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"c2c/broker"
	"c2c/broker/moves"
	"c2c/broker/owed"
	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
	"c2c/sessions"
	"c2c/sessions/callers"
)

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

// lease is a reader that was stopped once it had the mail; ending its lease kills it.
func (w *world) lease(sid string) (kill func()) {
	w.t.Helper()
	l, err := w.box(sid).Lease(context.Background(), mover, 1<<30)
	if err != nil || len(l.Messages) == 0 {
		w.t.Fatalf("lease of %s: %v", sid, err)
	}
	return func() {
		if err := l.Release(); err != nil {
			w.t.Error(err)
		}
	}
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

func (w *world) wantDead(want ...string) {
	w.t.Helper()
	dead, err := owed.DeadLetters(w.Registry)
	if err != nil {
		w.t.Fatal(err)
	}
	var bodies []string
	for _, d := range dead {
		body := d.Message.Content
		if d.Reason != "" {
			body += " (refused)"
		}
		bodies = append(bodies, body)
	}
	if got := strings.Join(bodies, "|"); got != strings.Join(want, "|") {
		w.t.Errorf("dead letters %q, want %q", got, want)
	}
}

// The first mover is stopped with the mail in its hands, a second finds nothing, the first is
// killed.
func TestASecondMoverDoesNotForgetWhatTheFirstHolds(t *testing.T) {
	w, amber := absentHolder(t, "1", "2")
	kill := w.lease("old")
	w.send(amber, "birch", "3")
	w.register("birch", w.heir())
	w.wantMail("heir", "3")
	w.wantMoves("heir", "old")
	told := fmt.Sprint(broker.CheckRoot(context.Background(), w.Registry))
	if !strings.Contains(told, "mail is still to be moved") {
		t.Errorf("doctor says %s", told)
	}
	kill()
	w.attach(w.heir())
	w.wantMail("heir", "3", "1", "2")
	w.wantMail("old")
	w.wantMoves("heir")
}

// A mover that was stopped while it had the lock of the old mailbox.
func TestAttachDoesNotWaitForTheOldMailbox(t *testing.T) {
	w, _ := absentHolder(t, "1")
	lock, err := atomicfile.Acquire(context.Background(), w.Dir(), w.box("old").LockName())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if _, err := w.Register(ctx, w.heir(), "birch"); err != nil {
		t.Fatal(err)
	}
	if err := ctx.Err(); err != nil {
		t.Error("it waited for the old mailbox until its own time was over")
	}
	w.wantMoves("heir", "old")
	lock.Release()
	w.attach(w.heir())
	w.wantMail("heir", "1")
	w.wantMoves("heir")
}

// What a mover that was killed has done already is not done again.
func TestAMoveIsResumedWhereItWasKilled(t *testing.T) {
	ctx := context.Background()
	deliver := func(t *testing.T, w *world) {
		waiting, err := w.box("old").Peek(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.box("heir").Deliver(ctx, waiting...); err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range map[string]struct {
		step func(t *testing.T, w *world)
		want []string
	}{
		"before it took the mail":      {func(t *testing.T, w *world) {}, []string{"1", "2"}},
		"when it had taken it":         {func(t *testing.T, w *world) { w.lease("old")() }, []string{"1", "2"}},
		"when it was delivered":        {func(t *testing.T, w *world) { deliver(t, w); w.lease("old")() }, []string{"1", "2"}},
		"when it was delivered, read":  {func(t *testing.T, w *world) { deliver(t, w); w.read("heir") }, nil},
		"when the old one was emptied": {func(t *testing.T, w *world) { deliver(t, w); w.read("old") }, []string{"1", "2"}},
	} {
		t.Run(name, func(t *testing.T) {
			w, _ := absentHolder(t, "1", "2")
			unblock := w.block("heir") // the registry changes hands, and no more
			w.register("birch", w.heir())
			unblock()
			w.wantMoves("heir", "old")
			test.step(t, w)
			w.attach(w.heir())
			w.wantMail("heir", test.want...)
			w.wantMail("old")
			w.wantMoves("heir")
		})
	}
}

const foreignMail = `[
{"from_alias":"amber","to_alias":"birch","content":"1","ts":1.5},
{"from_alias":"amber","to_alias":"birch","content":"bad id","ts":2.5,"message_id":"no name"},
{"from_alias":"amber","to_alias":"birch","content":"2","ts":3.5,"message_id":"m-2"},
{"from_alias":"","to_alias":"birch","content":"no sender","ts":4.5,"message_id":"m-3"},
{"from_alias":"amber","to_alias":"birch","content":"3","ts":5.5,"message_id":"m-4"}
]
`

// Nobody can deliver it, and it must not stop the session for ever.
func TestMovedMailThatCannotBeKeptBecomesADeadLetterOnce(t *testing.T) {
	w, _ := absentHolder(t)
	if err := w.Dir().Write("old.inbox.json", []byte(foreignMail)); err != nil {
		t.Fatal(err)
	}
	w.register("birch", w.heir())
	w.wantMail("heir", "1", "2", "3")
	w.wantDead("bad id (refused)", "no sender (refused)")
	w.wantMoves("heir")
	w.register("cedar", w.heir())
	w.register("birch", w.heir())
	w.wantMail("heir", "1", "2", "3")
	w.wantDead("bad id (refused)", "no sender (refused)")
	if log := w.file(logFile); strings.Count(log, "dead_letter_write") != 2 {
		t.Errorf("log: %s", log)
	}
}

func TestADeadLetterThatCannotBeKeptStaysOne(t *testing.T) {
	w := newWorld(t)
	dead := ""
	for i, m := range strings.Split(strings.Trim(foreignMail, "[]\n"), ",\n") {
		dead += fmt.Sprintf(`{"deleted_at":%d.5,"from_session_id":"s","message":%s}`+"\n", i, m)
	}
	if err := w.Dir().Write(deadFile, []byte(dead)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		w.register("birch", w.heir())
		w.attach(w.heir())
		w.wantMail("heir", "1", "2", "3")
		w.wantDead("bad id (refused)", "no sender (refused)")
		w.wantMoves("heir")
	}
}

// Nobody is reminded of a question that no mailbox takes.
func TestNothingIsOwedForADeadLetterThatCannotBeKept(t *testing.T) {
	w := newWorld(t)
	bad := `{"from_alias":"amber","to_alias":"birch","content":"x","ts":1.5,"message_id":"../q","kind":"question","due":7.5}`
	if err := w.Dir().Write(deadFile, []byte(`{"deleted_at":1.5,"from_session_id":"s","message":`+bad+"}\n")); err != nil {
		t.Fatal(err)
	}
	w.register("birch", w.heir())
	w.wantDead("x (refused)")
	if w.left("heir") {
		t.Error("it is owed: ", w.file("owed/heir.jsonl"))
	}
}

// The heir of an heir: the first was stopped before the mail had come to it.
func TestWhatWasToComeToAHeirComesToItsOwnHeir(t *testing.T) {
	w, _ := absentHolder(t, "1")
	kill := w.lease("old")
	w.register("birch", w.heir())
	kill()
	w.ends(30)
	w.starts(40)
	w.register("birch", callers.Caller{Explicit: "third", PID: w.pid(40)})
	w.wantMail("third", "1")
	w.wantMoves("third")
}

// An id belongs to its sender: the heir may have another sender's message of that id, and keeps
// both.
func TestAMoveKeepsMessagesOfOneIDFromTwoSenders(t *testing.T) {
	w, amber := absentHolder(t)
	ctx := context.Background()
	send := func(from sessions.Session, to, id, body string) {
		t.Helper()
		if _, err := w.Send(ctx, from, mail.Message{To: to, Content: body, ID: id}); err != nil {
			t.Fatal(err)
		}
	}
	cedar := w.register("cedar", callers.Caller{Explicit: "cedar", PID: w.pid(20)})
	w.register("dune", w.heir())
	send(cedar, "dune", "m-1", "cedar's")
	send(amber, "dune", "m-2", "was there")
	send(amber, "birch", "m-1", "amber's")
	send(amber, "birch", "m-2", "another")
	w.starts(20) // the old holder is gone, cedar is somebody else
	w.register("birch", w.heir())
	w.wantMail("heir", "cedar's", "was there", "amber's", "another")
	w.wantDead()
	w.wantMail("old")
	w.wantMoves("heir")
}

// A sender may use one id for two receivers. When one gets the other's mail, only a message that is
// the same in all is there already, and what the archive has forgotten is not.
func TestAMoveTakesNoOtherMessageOfTheSenderForTheSame(t *testing.T) {
	for _, read := range []bool{false, true} {
		for _, moved := range []bool{false, true} {
			w, amber := absentHolder(t)
			ctx := context.Background()
			w.register("dune", w.heir())
			send := func(to, body string, ephemeral bool) {
				t.Helper()
				if _, err := w.Send(ctx, amber, mail.Message{To: to, Content: body, ID: "job-1", Ephemeral: ephemeral}); err != nil {
					t.Fatal(err)
				}
				w.clock = w.clock.Add(time.Second)
			}
			send("dune", "for dune", true)
			want := []string{"for dune", "IMPORTANT"}
			if read {
				l, err := w.box("heir").Lease(ctx, "hook", 1<<30)
				if err == nil {
					err = l.Ack(ctx, inbox.Handles(l.Messages)...)
				}
				if err != nil {
					t.Fatal(err)
				}
				want = want[1:]
			}
			send("birch", "IMPORTANT", moved)
			w.register("birch", w.heir())
			w.wantMail("heir", want...)
			w.wantMail("old")
			w.wantDead()
			w.wantMoves("heir")
			found, err := w.box("heir").Find(ctx, "job-1")
			if err != nil || len(found) != 2 {
				t.Errorf("read %v, ephemeral %v: found %+v, %v", read, moved, found, err)
			}
		}
	}
}

func TestADamagedOldMailboxIsNotMovedForEver(t *testing.T) {
	w, _ := absentHolder(t)
	if err := w.Dir().Write("old.inbox.json", []byte(`[{"from_alias":"amb`)); err != nil {
		t.Fatal(err)
	}
	w.register("birch", w.heir())
	w.wantMoves("heir")
	if kept := w.aside("old.inbox.json"); len(kept) != 1 {
		t.Errorf("kept %q", kept)
	}
}

func TestTheMailOfAnOldMailboxMovesWhenAForeignFileIsMovedAway(t *testing.T) {
	w, _ := absentHolder(t, "1")
	foreign := filepath.Join(w.Root(), "old.lease", "00000001-1-10.json")
	if err := os.MkdirAll(foreign, 0o700); err != nil {
		t.Fatal(err)
	}
	w.register("birch", w.heir())
	told := fmt.Sprint(broker.CheckRoot(context.Background(), w.Registry))
	if !strings.Contains(told, "00000001-1-10.json") || !strings.Contains(told, "nothing can be read there until it is moved away") {
		t.Errorf("told: %s", told)
	}
	if err := os.Remove(foreign); err != nil {
		t.Fatal(err)
	}
	w.attach(w.heir())
	w.wantMail("heir", "1")
	w.wantMoves("heir")
}

// A sweep made dead letters of what the heir was still to get.
func TestWhatWasToBeMovedAndIsSweptComesToo(t *testing.T) {
	w, _ := absentHolder(t, "1")
	unblock := w.block("heir")
	w.register("birch", w.heir())
	w.clock = w.clock.Add(2 * time.Hour)
	if swept, err := moves.Sweep(context.Background(), w.Registry, time.Hour); err != nil || swept.Messages != 1 {
		t.Fatalf("swept %+v, %v", swept, err)
	}
	unblock()
	w.attach(w.heir())
	w.wantMail("heir", "1")
	w.wantDead()
	w.wantMoves("heir")
}

func TestARefusedMessageStaysWhereItIsUntilItIsADeadLetter(t *testing.T) {
	w, _ := absentHolder(t)
	if err := w.Dir().Write("old.inbox.json", []byte(foreignMail)); err != nil {
		t.Fatal(err)
	}
	blocked := filepath.Join(w.Root(), deadFile)
	if err := os.Mkdir(blocked, 0o700); err != nil {
		t.Fatal(err)
	}
	w.register("birch", w.heir())
	w.wantMail("heir", "1", "2", "3")
	if moves, err := w.moves("heir"); err != nil || !slices.Contains(moves, "old") {
		t.Errorf("to be moved from %q, %v", moves, err)
	}
	if err := os.Remove(blocked); err != nil {
		t.Fatal(err)
	}
	w.attach(w.heir())
	w.wantMail("heir", "1", "2", "3")
	w.wantMail("old")
	w.wantDead("bad id (refused)", "no sender (refused)")
	w.wantMoves("heir")
}

// A sweep that was killed may have written a message twice; other lines belong to others.
func TestOnlyTheSessionsOwnDeadLettersComeAndOnce(t *testing.T) {
	w := newWorld(t)
	dead := ""
	for _, line := range []string{"1.5 heir dune mine", "2.5 heir dune mine", "3.5 gone BIRCH by-alias", "4.5 gone coral other"} {
		f := strings.Fields(line)
		dead += fmt.Sprintf(`{"deleted_at":%s,"from_session_id":%q,"message":{"from_alias":"amber","to_alias":%q,"content":%q,"ts":1.5,"message_id":%q}}`+"\n",
			f[0], f[1], f[2], f[3], "m-"+f[3])
	}
	if err := w.Dir().Write(deadFile, []byte(dead)); err != nil {
		t.Fatal(err)
	}
	w.register("birch", w.heir())
	w.wantMail("heir", "mine", "by-alias")
	w.wantDead("other")
	w.wantMoves("heir")
}

// Who was killed while it wrote the facts leaves half a file. If another process has written the
// same meanwhile, there is nothing left to write.
func TestFactsThatNeedNoChangeLoseWhatAKilledWriterLeft(t *testing.T) {
	w := newWorld(t)
	w.register("amber", callers.Caller{PID: w.pid(10), Explicit: "sid-amber"})
	left := filepath.Join(w.Root(), "sessions/sid-amber.json.tmp.c2c")
	if err := os.WriteFile(left, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.register("amber", callers.Caller{PID: w.pid(10), Explicit: "sid-amber"})
	if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
}

func TestAFullHeirGetsTheRestLater(t *testing.T) {
	w, amber := absentHolder(t, "1", "2", "3")
	w.Mail.Most = 3
	w.register("cedar", w.heir())
	w.send(amber, "cedar", "a")
	w.send(amber, "cedar", "b")
	w.register("birch", w.heir())
	w.wantMail("heir", "a", "b", "1")
	w.wantMail("old", "2", "3")
	w.wantMoves("heir", "old")
	w.read("heir")
	w.attach(w.heir())
	w.wantMail("heir", "2", "3")
	w.wantMoves("heir")
}

// A mover that was killed before it took the dead letters out of the old mailbox.
func TestARefusedMessageBecomesADeadLetterOnce(t *testing.T) {
	w, _ := absentHolder(t)
	for range 2 {
		if err := w.Dir().Write("old.inbox.json", []byte(foreignMail)); err != nil {
			t.Fatal(err)
		}
		if err := moves.MoveMail(context.Background(), w.Registry, "old", "heir"); err != nil {
			t.Fatal(err)
		}
		w.clock = w.clock.Add(time.Second)
	}
	w.wantMail("heir", "1", "2", "3")
	w.wantDead("bad id (refused)", "no sender (refused)")
}

// Killed when the registry had changed hands: the heir's facts say already what is to come.
func TestAMoveIsRecordedBeforeTheRegistryChangesHands(t *testing.T) {
	w, _ := absentHolder(t, "1")
	a := &callers.Attachment{Caller: w.heir(), Alias: "birch"}
	err := w.Change(context.Background(), func(rows []sessions.Row) ([]sessions.Row, error) {
		return callers.BindRow(context.Background(), w.Registry, rows, a)
	})
	if err != nil {
		t.Fatal(err)
	}
	w.wantMoves("heir", "old")
	w.attach(w.heir())
	w.wantMail("heir", "1")
	w.wantMoves("heir")
}

// onWarning is a log that calls a function at the first warning.
type onWarning struct {
	slog.Handler
	call func()
}

func (o *onWarning) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }

func (o *onWarning) Handle(context.Context, slog.Record) error {
	if call := o.call; call != nil {
		o.call = nil
		call()
	}
	return nil
}

// A sender that had looked the alias up before comes between the end of a move and its record.
func TestMailThatComesAtTheEndOfAMoveIsMovedLater(t *testing.T) {
	w := newWorld(t)
	w.Mail.Most = 1
	birch := w.register("birch", callers.Caller{Explicit: "birch", PID: w.pid(10)})
	amber := callers.Caller{Explicit: "amber", PID: w.pid(20)}
	w.register("amber", amber)
	w.send(birch, "amber", "first")
	err := w.Facts.Change(t.Context(), "amber", func(f *sessions.Facts) { f.MoveFrom = []string{"old", "stuck"} })
	if err != nil {
		t.Fatal(err)
	}
	w.block("stuck") // tells that the move of old is over
	w.Broker.Log = slog.New(&onWarning{slog.DiscardHandler, func() {
		if _, err := w.box("old").Deliver(t.Context(), mail.Message{From: "birch", To: "amber", Content: "late"}); err != nil {
			t.Error(err)
		}
		moves.Forward(t.Context(), w.Registry, "old", "amber")
		w.wantMail("old", "late") // the other mailbox is full
	}})
	w.attach(amber)
	w.wantMail("old", "late")
	w.wantMoves("amber", "old", "stuck")
}

// onFind is a process table that calls a function when it is asked for the first time.
type onFind struct {
	sessions.ProcessTable
	call func()
}

func (o *onFind) Find(pid int) (sessions.Process, error) {
	if call := o.call; call != nil {
		o.call = nil
		call()
	}
	return o.ProcessTable.Find(pid)
}

// A sender whose message is to follow the alias has found the new holder, which loses the alias at
// this moment.
func TestMailIsMovedToWhoHasTheAliasByThen(t *testing.T) {
	w, _ := absentHolder(t)
	w.register("birch", w.heir())
	w.ends(30)
	w.starts(40)
	third := callers.Caller{Explicit: "third", PID: w.pid(40)}
	if _, err := w.box("old").Deliver(t.Context(), mail.Message{From: "amber", To: "birch", Content: "late"}); err != nil {
		t.Fatal(err)
	}
	w.Processes = &onFind{w.Processes, func() {
		brief, cancel := context.WithTimeout(t.Context(), moveWait)
		defer cancel()
		w.Register(brief, third, "birch") // has to wait, perhaps
	}}
	unblock := w.block("old")
	moves.Forward(t.Context(), w.Registry, "old", "birch")
	unblock()
	w.register("birch", third)
	w.wantMail("third", "late")
}

// A sender that finds the receiver's row forgotten records that the mail is to move to the session
// that has the alias now. If the receiver is back by then, its mail is where it belongs: moved to
// itself, it would be removed as there already.
func TestMailIsNotMovedToItself(t *testing.T) {
	t.Parallel()
	w, amber, birch := pair(t)
	w.send(amber, "birch", "x")
	if holder, err := moves.RecordMove(t.Context(), w.Registry, birch.ID, "birch"); err != nil || holder != "" {
		t.Errorf("it is to move to %q, %v", holder, err)
	}
	if moves, err := w.moves(birch.ID); err != nil || len(moves) > 0 {
		t.Errorf("moves from %q, %v", moves, err)
	}
	if err := moves.MoveMail(t.Context(), w.Registry, birch.ID, birch.ID); err != nil {
		t.Error(err)
	}
	w.wantMail(birch.ID, "x")
}

// A mover is stopped once the heir has the mail. Meanwhile the session is back, and the heir's mail
// comes to it: what the first mover has in its hands there is on its way out.
func TestMailThatMovesBackBesideAStoppedMoverIsNotLost(t *testing.T) {
	for name, ends := range map[string]func(m *inbox.Lease) error{
		"it goes on":    func(m *inbox.Lease) error { return m.Remove(t.Context(), inbox.Handles(m.Messages)...) },
		"it was killed": func(m *inbox.Lease) error { return m.Release() },
	} {
		t.Run(name, func(t *testing.T) {
			w, _ := absentHolder(t, "1", "2")
			stopped, err := w.box("old").LeaseAll(t.Context(), mover, 1<<20)
			if err != nil || len(stopped.Messages) != 2 {
				t.Fatal(stopped, err)
			}
			if _, err := w.box("heir").Move(t.Context(), stopped.Messages...); err != nil {
				t.Fatal(err)
			}
			if err := moves.MoveMail(t.Context(), w.Registry, "heir", "old"); err != nil {
				t.Fatal(err)
			}
			if err := ends(stopped); err != nil {
				t.Fatal(err)
			}
			w.wantMail("heir")
			w.wantMail("old", "1", "2")
			w.read("old")
			w.wantMail("old")
			if read, err := w.box("old").Archive().History(t.Context(), 9); err != nil || len(read) != 2 {
				t.Errorf("read were %d, %v", len(read), err)
			}
		})
	}
}
