package watch

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
	"c2c/wake"
)

// script is a method that answers with what a test put there, and keeps what it was asked.
type script struct {
	carried [][]string // ids of each Carry
	rung    []wake.Notice
	had     func(ids []string) ([]string, error)
	ring    error
}

func (s *script) Carry(_ context.Context, msgs []mail.Message) ([]string, error) {
	var ids []string
	for _, m := range msgs {
		ids = append(ids, m.ID)
	}
	s.carried = append(s.carried, ids)
	return s.had(ids)
}

func (s *script) Ring(_ context.Context, n wake.Notice) error {
	s.rung = append(s.rung, n)
	return s.ring
}

// stage is a mailbox with a watcher whose clock the test moves.
type stage struct {
	t    *testing.T
	root string
	box  *inbox.Mailbox
	w    *Watcher
	now  time.Time
	log  []wake.Ring
}

func newStage(t *testing.T, methods ...wake.Method) *stage {
	t.Helper()
	root, err := atomicfile.Create(filepath.Join(t.TempDir(), "root"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	box, err := inbox.Open(root, "amber", inbox.Config{})
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{t: t, root: root.Path(), box: box, now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	s.w = &Watcher{Box: box, Methods: methods, Now: func() time.Time { return s.now },
		Record: func(_ context.Context, r wake.Ring) { s.log = append(s.log, r) }}
	return s
}

func (s *stage) deliver(ids ...string) {
	s.t.Helper()
	for _, id := range ids {
		if _, err := s.box.Deliver(s.t.Context(), mail.Message{From: "birch", To: "amber", Content: id, ID: id}); err != nil {
			s.t.Fatal(err)
		}
	}
}

func (s *stage) look() (again time.Duration) {
	s.t.Helper()
	again, err := s.w.look(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	return again
}

func (s *stage) left() string {
	s.t.Helper()
	msgs, err := s.box.Peek(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	var ids []string
	for _, m := range msgs {
		ids = append(ids, m.ID)
	}
	return fmt.Sprint(ids)
}

func TestWhatACarrierHandsOverIsReadAndTheRestWaits(t *testing.T) {
	c := &script{had: func(ids []string) ([]string, error) { return ids[:2], nil }}
	s := newStage(t, wake.Method{Name: "socket", Carrier: c})
	s.deliver("a", "b", "c")
	s.look()
	if got := s.left(); got != "[c]" {
		t.Errorf("left %s", got)
	}
	st, err := s.box.Find(t.Context(), "a")
	if err != nil || len(st) != 1 || st[0].Where != inbox.Archived || st[0].By != "socket" {
		t.Errorf("a is %+v, %v", st, err)
	}
	if len(s.log) != 1 || s.log[0].Outcome != wake.Rang || s.log[0].Count != 3 {
		t.Errorf("recorded %+v", s.log)
	}
}

// slow is a doorbell that waits for its client before it rings, as a terminal does.
type slow struct {
	*script
	meanwhile func()
}

func (s slow) Ring(ctx context.Context, n wake.Notice) error {
	s.meanwhile()
	if n.IsRead() {
		return wake.ErrRead
	}
	return s.script.Ring(ctx, n)
}

// A hook hands the message over while the doorbell waits. Mail that comes in this time has a ring
// of its own.
func TestWhatIsReadBeforeTheRingIsNotRungFor(t *testing.T) {
	bell, meanwhile := &script{}, func() {}
	s := newStage(t, wake.Method{Name: "terminal", Doorbell: slow{bell, func() { meanwhile() }}})
	s.deliver("a")
	meanwhile = func() {
		l, err := s.box.Lease(t.Context(), "hook", wake.MaxLook)
		if err == nil {
			err = l.Ack(t.Context(), "a")
		}
		if err != nil {
			t.Fatal(err)
		}
		s.deliver("b")
	}
	s.look()
	if len(bell.rung) > 0 || len(s.log) > 0 {
		t.Errorf("rung %+v, recorded %+v", bell.rung, s.log)
	}
	meanwhile = func() {}
	s.now = s.now.Add(time.Second)
	s.look()
	if len(bell.rung) != 1 || bell.rung[0].Oldest != "b" || len(s.log) != 1 || s.log[0].Outcome != wake.Rang {
		t.Errorf("then rung %+v, recorded %+v", bell.rung, s.log)
	}
}

// The session is closed while the client gets its mail, and somebody has the archive's lock at that
// moment.
func TestWhatWasHandedOverWhenTheWatcherIsStoppedIsRead(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var s *stage
	s = newStage(t, wake.Method{Name: "socket", Carrier: &script{had: func(ids []string) ([]string, error) {
		path := s.box.Archive().LockPath()
		dir, err := atomicfile.Create(filepath.Dir(path))
		if err != nil {
			return nil, err
		}
		lock, err := atomicfile.Acquire(t.Context(), dir, filepath.Base(path))
		if err != nil {
			return nil, err
		}
		time.AfterFunc(100*time.Millisecond, func() { lock.Release(); dir.Close() })
		cancel()
		return ids[:1], context.Cause(ctx)
	}}})
	s.deliver("a", "b")
	if _, err := s.w.look(ctx); err != nil {
		t.Fatal(err)
	}
	if got := s.left(); got != "[b]" {
		t.Errorf("left %s", got)
	}
}

// What is leased counts as handed over, and a status must not say so of mail for a client that is
// away.
func TestARingThatIsStoppedIsNoFailureOfTheClient(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	m := &script{had: func([]string) ([]string, error) {
		stop()
		return nil, context.Cause(ctx)
	}}
	s := newStage(t, wake.Method{Name: "test", Carrier: m})
	s.deliver("one")
	if _, err := s.w.look(ctx); err != nil || len(m.carried) != 1 || len(s.log) != 0 {
		t.Errorf("%v: carried %q, told %+v", err, m.carried, s.log)
	}
	if left := s.left(); left != "[one]" {
		t.Errorf("left %q", left)
	}
}

func TestNothingIsLeasedForAClientThatIsAway(t *testing.T) {
	m := &script{}
	away := func(context.Context) error { return wake.ErrAway }
	s := newStage(t, wake.Method{Name: "server", Carrier: m, Doorbell: m, Ready: away})
	s.deliver("a")
	before, err := s.box.Stamp()
	if err != nil {
		t.Fatal(err)
	}
	s.look()
	if after, err := s.box.Stamp(); err != nil || after != before {
		t.Errorf("the mailbox has changed: %v", err)
	}
	if len(m.carried)+len(m.rung) != 0 || len(s.log) != 1 || s.log[0].Outcome != wake.Away {
		t.Errorf("carried %v, rung %v, recorded %+v", m.carried, m.rung, s.log)
	}
}

// A carried line may be kept back by the client and come later: the second ring carries no bodies.
func TestALostRingIsRungAgainWithoutBodies(t *testing.T) {
	m := &script{had: func([]string) ([]string, error) { return nil, fmt.Errorf("%w: nothing came back", wake.ErrUncaptured) }}
	s := newStage(t, wake.Method{Name: "socket", Carrier: m, Doorbell: m})
	s.deliver("a")
	again := s.look()
	if got := s.left(); got != "[a]" || s.log[0].Outcome != wake.Uncaptured {
		t.Errorf("left %s, recorded %+v", got, s.log)
	}
	s.look()
	if len(m.carried) != 1 || len(m.rung) != 0 {
		t.Errorf("rung again before the gap was over: %d, %d", len(m.carried), len(m.rung))
	}
	s.now = s.now.Add(again)
	s.look()
	if len(m.carried) != 1 || len(m.rung) != 1 || m.rung[0].Oldest != "a" {
		t.Errorf("carried %v, rung %v", m.carried, m.rung)
	}
	s.deliver("b") // mail for which nothing was tried yet, behind it
	s.now = s.now.Add(time.Second)
	if s.look(); len(m.carried)+len(m.rung) != 2 {
		t.Errorf("rung for mail behind: %v, %v", m.carried, m.rung)
	}
}

func TestTheNextMethodIsTriedOnlyWhenNobodyIsThere(t *testing.T) {
	gone, there := &script{ring: fmt.Errorf("%w: no socket", wake.ErrUnreachable)}, &script{}
	s := newStage(t, wake.Method{Name: "gone", Doorbell: gone}, wake.Method{Name: "there", Doorbell: there})
	s.deliver("a")
	s.look()
	if len(gone.rung) != 1 || len(there.rung) != 1 || s.log[0].Method != "there" || s.log[0].Outcome != wake.Rang {
		t.Errorf("%d, %d, %+v", len(gone.rung), len(there.rung), s.log)
	}
	held := &script{ring: fmt.Errorf("%w: a dialog is open", wake.ErrUncaptured)}
	s = newStage(t, wake.Method{Name: "held", Doorbell: held}, wake.Method{Name: "there", Doorbell: there})
	s.deliver("a")
	s.look()
	if len(held.rung) != 1 || len(there.rung) != 1 || s.log[0].Outcome != wake.Uncaptured {
		t.Errorf("%d, %d, %+v", len(held.rung), len(there.rung), s.log)
	}
	none := newStage(t, wake.Method{Name: "gone", Doorbell: gone})
	none.deliver("a")
	none.look()
	if r := none.log[0]; r.Outcome != wake.Failed || !strings.Contains(r.Cause, wake.ErrUnreachable.Error()) {
		t.Errorf("recorded %+v", r)
	}
}

// Its person lets nobody write to it: no ring is hidden from that person by trying on.
func TestARefusedRingIsNotRepeatedSoon(t *testing.T) {
	m := &script{ring: fmt.Errorf("%w: by its settings", wake.ErrRefused)}
	s := newStage(t, wake.Method{Name: "socket", Doorbell: m})
	s.deliver("a")
	if again := s.look(); again != wake.RefusedGap || s.log[0].Outcome != wake.Refused {
		t.Errorf("again after %v, recorded %+v", again, s.log)
	}
}

// No hook tells of the turn that a ring starts.
func TestARingTellsOfItsTurn(t *testing.T) {
	m, told := &script{ring: fmt.Errorf("%w: held", wake.ErrConsent)}, []bool{}
	s := newStage(t, wake.Method{Name: "socket", Doorbell: m})
	s.w.Turn = func(_ context.Context, runs bool) error { told = append(told, runs); return nil }
	s.deliver("a")
	s.now = s.now.Add(s.look())
	m.ring = nil
	if s.look(); fmt.Sprint(told) != "[true false true]" || s.log[0].Outcome != wake.Held || s.log[1].Outcome != wake.Rang {
		t.Errorf("told %v, recorded %+v", told, s.log)
	}
}

func TestABusySessionIsRungOnlyWhereARingJoinsItsTurn(t *testing.T) {
	for _, joins := range []bool{false, true} {
		m := &script{}
		s := newStage(t, wake.Method{Name: "terminal", Doorbell: m, Joins: joins})
		s.w.Busy = func(context.Context) bool { return true }
		s.deliver("a")
		s.look()
		if rung := len(m.rung) == 1 && m.rung[0].Joins; rung != joins {
			t.Errorf("joins %v: rung %+v", joins, m.rung)
		}
	}
}

// A client that does not listen to a channel says nothing of it.
func TestAMethodThatNobodyMayHearIsGivenUpAfterARingInVain(t *testing.T) {
	silent, heard := &script{}, &script{}
	s := newStage(t, wake.Method{Name: "channel", Doorbell: silent, Unproven: true}, wake.Method{Name: "socket", Doorbell: heard})
	s.deliver("a")
	s.now = s.now.Add(s.look())
	s.look()
	if len(silent.rung) != 1 || len(heard.rung) != 1 || s.log[1].Method != "socket" {
		t.Errorf("%d, %d, %+v", len(silent.rung), len(heard.rung), s.log)
	}
	l, err := s.box.Lease(t.Context(), "test", math.MaxInt64)
	if err == nil {
		err = l.Ack(t.Context(), l.Messages[0].Handle())
	}
	if err != nil {
		t.Fatal(err)
	}
	s.deliver("b")
	s.now = s.now.Add(time.Second)
	if s.look(); len(silent.rung) != 1 || len(heard.rung) != 2 {
		t.Errorf("for the next mail: %d, %d, %+v", len(silent.rung), len(heard.rung), s.log)
	}
	s = newStage(t, wake.Method{Name: "channel", Doorbell: silent, Unproven: true}) // nothing else to try
	s.deliver("a")
	s.now = s.now.Add(s.look())
	if s.look(); len(silent.rung) != 3 {
		t.Errorf("the only one is used %d times", len(silent.rung)-1)
	}
}

// Our own look must not be the change that we look for: it would be looked at again for ever.
func TestMailThatWaitsIsNotLookedAtAgainAndAgain(t *testing.T) {
	s := newStage(t, wake.Method{Name: "test", Doorbell: &script{}})
	s.deliver("a")
	looks, ctx, cancel := 0, t.Context(), context.CancelFunc(nil)
	ctx, cancel = context.WithTimeout(ctx, time.Second)
	defer cancel()
	s.w.Now = func() time.Time { looks++; return time.Now() }
	s.w.Lock = filepath.Join(s.root, s.box.LockName())
	changes := NewChanges()
	defer changes.Close()
	if err := s.w.Run(ctx, changes); err != nil {
		t.Fatal(err)
	}
	if looks > 10 {
		t.Errorf("looked %d times in a second", looks)
	}
}

func TestARightToRingThatIsNotGivenBackIsAnError(t *testing.T) {
	s, stuck := newStage(t, wake.Method{Name: "test", Doorbell: &script{}}), errors.New("stuck")
	s.w.Borrow = func() (func() error, bool, error) { return func() error { return stuck }, true, nil }
	s.deliver("a")
	if _, err := s.w.look(t.Context()); !errors.Is(err, stuck) {
		t.Errorf("error %v", err)
	}
}

// noticed waits for what giveBack does to mail that another reader has, and fails the test when
// that is seen only by the look that comes in any case.
func (s *stage) noticed(giveBack func()) {
	s.t.Helper()
	s.w.Lock = filepath.Join(s.root, s.box.LockName())
	changes := NewChanges()
	defer changes.Close()
	sub := changes.subscribe(s.w.Lock)
	defer sub.Close()
	before, err := s.w.subscribed(sub)
	if some, werr := s.box.Waiting(); err != nil || werr != nil || some {
		s.t.Fatalf("before: %v, %v, %v", some, err, werr)
	}
	giveBack()
	limit := recheck / 2
	if runtime.GOOS != "linux" {
		limit = 2 * recheck // nothing tells of a file that is closed unchanged
	}
	ctx, cancel := context.WithTimeout(s.t.Context(), limit)
	defer cancel()
	if err := s.w.await(ctx, sub, before, recheck); err != nil || ctx.Err() != nil {
		s.t.Fatal("it is not noticed", err)
	}
	if some, err := s.box.Waiting(); err != nil || !some {
		s.t.Errorf("after: %v, %v", some, err)
	}
}

func TestMailThatAReaderGivesBackIsNoticedAtOnce(t *testing.T) {
	s := newStage(t)
	s.deliver("a")
	l, err := s.box.Lease(t.Context(), "reader", wake.MaxLook)
	if err != nil || len(l.Messages) != 1 {
		t.Fatal(l, err)
	}
	s.noticed(func() {
		if err := l.Release(); err != nil {
			t.Fatal(err)
		}
	})
}

// holdVariable names the root of a mailbox that this program takes and keeps.
const holdVariable = "C2C_TEST_HOLD"

func TestMailOfAKilledReaderIsNoticedAtOnce(t *testing.T) {
	if root := os.Getenv(holdVariable); root != "" {
		hold(t, root)
	}
	s := newStage(t)
	s.deliver("a")
	reader := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	reader.Env = append(os.Environ(), holdVariable+"="+s.root)
	out, err := reader.StdoutPipe()
	if err == nil {
		_, err = reader.StdinPipe() // open until it is killed
	}
	if err == nil {
		err = reader.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "held\n" {
		t.Fatal(line, err)
	}
	s.noticed(func() {
		reader.Process.Kill()
		reader.Wait()
	})
}

// hold takes what waits, says so, and stays until its input ends. A wait for nothing but its test
// would be a deadlock to the Go runtime, which then ends the program.
func hold(t *testing.T, root string) {
	dir, err := atomicfile.Create(root)
	if err != nil {
		t.Fatal(err)
	}
	box, err := inbox.Open(dir, "amber", inbox.Config{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := box.Lease(t.Context(), "reader", wake.MaxLook)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("held")
	io.Copy(io.Discard, os.Stdin)
	l.Release()
}
