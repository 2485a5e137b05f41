package inbox

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
)

// sender is another process, as far as the queue goes: it shares no Mailbox.
func sender(t *testing.T, root string) *Mailbox {
	t.Helper()
	m, err := openAt(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.root.Close() })
	return m
}

// held takes the lock of a mailbox that has been used before.
func held(t *testing.T, m *Mailbox) *atomicfile.Lock {
	t.Helper()
	deliver(t, m, letter("first"))
	lk, err := m.lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lk.Release() })
	return lk
}

func queuedFiles(t *testing.T, root string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(root, "amber.lease", queuedPrefix+"*"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(names, atomicfile.IsTemp)
}

// awaitQueued returns once n files are queued.
func awaitQueued(t *testing.T, root string, n int) {
	t.Helper()
	end := time.Now().Add(time.Minute)
	for len(queuedFiles(t, root)) < n {
		if time.Now().After(end) {
			t.Fatalf("queued %q, want %d", queuedFiles(t, root), n)
		}
		runtime.Gosched()
	}
}

// sent is what Deliver said.
type sent struct {
	Stored
	err error
}

func send(ctx context.Context, m *Mailbox, msg mail.Message) <-chan sent {
	said := make(chan sent, 1)
	go func() {
		stored, err := m.Deliver(ctx, msg)
		said <- sent{stored, err}
	}()
	return said
}

func wantIDs(t *testing.T, m *Mailbox, want ...string) {
	t.Helper()
	msgs, err := m.Peek(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, msg := range msgs {
		got = append(got, msg.ID)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("waiting %q, want %q", got, want)
	}
}

func wantNoQueue(t *testing.T, root string) {
	t.Helper()
	if left := queuedFiles(t, root); len(left) > 0 {
		t.Errorf("left %q", left)
	}
}

func TestWhatIsQueuedIsNoMessageYet(t *testing.T) {
	m, root := newBox(t)
	deliver(t, m, letter("first"))
	if _, err := drain(t.Context(), m, "test"); err != nil {
		t.Fatal(err)
	}
	lk, err := m.lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	said := send(t.Context(), sender(t, root), mail.Message{From: "birch", To: "amber", Content: "x", ID: "x-1", FromSession: "birch"})
	awaitQueued(t, root, 1)
	if waits, err := m.Waiting(); waits || err != nil {
		t.Errorf("waits %v, %v", waits, err)
	}
	if found, err := m.find(map[string]bool{"x-1": true}, nil); len(found) != 0 || err != nil {
		t.Errorf("found %+v, %v", found, err)
	}
	lk.Release()
	if s := <-said; s.err != nil {
		t.Error(s.err)
	}
	wantIDs(t, m, "x-1")
	wantNoQueue(t, root)
}

// A process that stores for others is killed, and the sender is none the wiser:
// with a reader in between or without.
func TestAKilledCommitterLosesAndDoublesNothing(t *testing.T) {
	for _, point := range []string{"claimed", "stored", "read"} {
		m, root := newBox(t)
		deliver(t, m, letter("first"))
		if _, err := drain(t.Context(), m, "test"); err != nil {
			t.Fatal(err)
		}
		killed := child(t, "die", root, point)
		in, err := killed.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := killed.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		start(t, killed)
		if line, err := bufio.NewReader(out).ReadString('\n'); line != "locked\n" {
			t.Fatalf("the process says %q, %v", line, err)
		}
		said := send(t.Context(), sender(t, root), letter("x"))
		awaitQueued(t, root, 1)
		in.Close()
		s := <-said
		if s.err != nil {
			t.Fatalf("%s: %v", point, s.err)
		}
		killed.Wait()
		if st := killed.ProcessState.Sys().(syscall.WaitStatus); st.Signal() != syscall.SIGKILL {
			t.Fatalf("%s: the process ended by itself: %v", point, killed.ProcessState)
		}
		if point == "read" {
			wantIDs(t, m)
		} else {
			wantIDs(t, m, s.Messages[0].ID)
		}
		if _, err := drain(t.Context(), m, "test"); err != nil {
			t.Fatal(err)
		}
		if h, err := m.archive.History(t.Context(), 9); err != nil || len(h) != 2 || h[0].ID != s.Messages[0].ID {
			t.Errorf("%s: history %+v, %v", point, h, err)
		}
		wantNoQueue(t, root)
	}
}

// claimAndDie is the process that is killed.
func claimAndDie(m *Mailbox, point string) error {
	ctx := context.Background()
	lk, err := m.lock(ctx)
	if err != nil {
		return err
	}
	defer lk.Release()
	fmt.Println("locked")
	bufio.NewReader(os.Stdin).ReadByte()
	dir, err := m.root.Sub(m.LeaseName(), false)
	if err != nil {
		return err
	}
	names, err := dir.Names()
	if err != nil {
		return err
	}
	b := m.claim(dir, names, nil)
	if len(b.msgs) != 1 {
		return fmt.Errorf("claimed %d messages", len(b.msgs))
	}
	if point != "claimed" {
		if err := m.store(dir, names, b.msgs); err != nil {
			return err
		}
	}
	if point == "read" {
		l := &Lease{box: m, dir: dir}
		if err := l.take(ctx, "test", math.MaxInt64); err != nil {
			return err
		}
		l.assignHandles()
		if err := l.Ack(ctx, Handles(l.Messages)...); err != nil {
			return err
		}
	}
	return syscall.Kill(os.Getpid(), syscall.SIGKILL)
}

// What a dead sender, a power cut or a hostile process left is not stored.
func TestWhatNobodyWaitsForIsDropped(t *testing.T) {
	whole := string(mail.Array([]mail.Message{{From: "birch", To: "amber", Content: "x", ID: "x-1", TS: 1.5}}))
	for _, byReader := range []bool{false, true} {
		for _, content := range []string{whole, whole[:30], "", "[]\n", strings.Repeat("[", 2*maxBatch)} {
			m, root := newBox(t)
			deliver(t, m, letter("first"))
			plantFile(t, root, "amber.lease/"+queuedPrefix+"1-1", content)
			want := "first"
			if byReader {
				if err := lease(t, m).Release(); err != nil {
					t.Fatal(err)
				}
			} else {
				deliver(t, m, letter("second"))
				want += " second"
			}
			if got := peek(t, m); got != want {
				t.Errorf("%.40q: waiting %q", content, got)
			}
			wantNoQueue(t, root)
		}
	}
}

func TestAKilledSenderLeavesNothing(t *testing.T) {
	m, root := newBox(t)
	lk := held(t, m)
	killed := child(t, "send", root, "birch", "1")
	start(t, killed)
	awaitQueued(t, root, 1)
	killed.Process.Kill()
	killed.Wait()
	lk.Release()
	deliver(t, m, letter("second"))
	if got := peek(t, m); got != "first second" {
		t.Errorf("waiting %q", got)
	}
	wantNoQueue(t, root)
}

// Somebody holds the lock of a queued file that is none.
func TestABadQueuedFileStopsNobody(t *testing.T) {
	whole := `{"from_alias":"birch","to_alias":"amber","content":"x","ts":1.5`
	for _, content := range []string{"", "[", "null\n", "[null]\n", "[" + whole + "}]\n", "[" + whole + `,"message_id":"../x"}]` + "\n",
		"[" + whole + `,"message_id":"x-1","ephemeral":true}]` + "\n", strings.Repeat("[", 2*maxBatch)} {
		m, root := newBox(t)
		lk := held(t, m)
		plantFile(t, root, "amber.lease/"+queuedPrefix+"9-1", content)
		dir, err := m.root.Sub(m.LeaseName(), false)
		if err != nil {
			t.Fatal(err)
		}
		f, err := dir.OpenHandle(queuedPrefix+"9-1", os.O_RDWR)
		dir.Close()
		if err != nil {
			t.Fatal(err)
		}
		if ok, err := atomicfile.TryFile(f); !ok || err != nil {
			t.Fatal(ok, err)
		}
		said := send(t.Context(), sender(t, root), letter("second"))
		awaitQueued(t, root, 2)
		lk.Release()
		if s := <-said; s.err != nil {
			t.Errorf("%.40q: %v", content, s.err)
		}
		if got := peek(t, m); got != "first second" {
			t.Errorf("%.40q: waiting %q", content, got)
		}
		f.Close()
	}
}

func TestPlantedThingsInTheQueueStopNobody(t *testing.T) {
	for kind, plant := range map[string]func(path string) error{
		"fifo":      func(p string) error { return syscall.Mkfifo(p, 0o600) },
		"directory": func(p string) error { return os.Mkdir(p, 0o700) },
		"symlink":   func(p string) error { return os.Symlink("/dev/zero", p) },
	} {
		m, root := newBox(t)
		lk := held(t, m)
		if err := plant(filepath.Join(root, "amber.lease", queuedPrefix+"1-1")); err != nil {
			t.Fatal(err)
		}
		said := send(t.Context(), sender(t, root), letter("second"))
		awaitQueued(t, root, 2)
		lk.Release()
		if s := <-said; s.err != nil {
			t.Errorf("%s: %v", kind, s.err)
		}
		if got, err := drain(t.Context(), m, "test"); err != nil || bodies(got) != "first second" {
			t.Errorf("%s: read %q, %v", kind, bodies(got), err)
		}
	}
}

func TestATimeOutTakesTheMessageBack(t *testing.T) {
	m, root := newBox(t)
	lk := held(t, m)
	ctx, giveUp := context.WithCancel(t.Context())
	said := send(ctx, sender(t, root), letter("x"))
	awaitQueued(t, root, 1)
	giveUp()
	if s := <-said; !errors.Is(s.err, atomicfile.ErrLockTimeout) {
		t.Errorf("got %v", s.err)
	}
	wantNoQueue(t, root)
	lk.Release()
	deliver(t, m, letter("second"))
	if got := peek(t, m); got != "first second" {
		t.Errorf("waiting %q", got)
	}
}

// claimQueued claims what is queued, as a sender that has the lock does.
func claimQueued(t *testing.T, m *Mailbox) (*atomicfile.Dir, *batch) {
	t.Helper()
	dir, err := m.root.Sub(m.LeaseName(), false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dir.Close() })
	names, err := dir.Names()
	if err != nil {
		t.Fatal(err)
	}
	return dir, m.claim(dir, names, nil)
}

// The time-out comes when another process has the message in hand.
func TestATimeOutWaitsForWhoStoresTheMessage(t *testing.T) {
	for _, sign := range []bool{true, false} {
		m, root := newBox(t)
		lk := held(t, m)
		ctx, giveUp := context.WithCancel(t.Context())
		said := send(ctx, sender(t, root), letter("x"))
		awaitQueued(t, root, 1)
		dir, b := claimQueued(t, m)
		giveUp()
		if sign {
			if err := m.store(dir, nil, b.msgs); err != nil {
				t.Fatal(err)
			}
		}
		b.close(sign)
		lk.Release()
		if s := <-said; s.err != nil {
			t.Errorf("%v: %v", sign, s.err)
		}
		if got := peek(t, m); got != "first x" {
			t.Errorf("%v: waiting %q", sign, got)
		}
	}
}

func TestATimeOutSaysThatAStoppedProcessHasTheMessage(t *testing.T) {
	m, root := newBox(t)
	held(t, m)
	ctx, giveUp := context.WithCancel(t.Context())
	said := send(ctx, sender(t, root), letter("x"))
	awaitQueued(t, root, 1)
	claimQueued(t, m)
	giveUp()
	if s := <-said; !errors.Is(s.err, atomicfile.ErrLockTimeout) || !strings.Contains(s.err.Error(), "may be stored") {
		t.Errorf("got %v", s.err)
	}
}

// The oldest of those that wait is stopped; the lock is free.
func TestAStoppedSenderHoldsNobodyUp(t *testing.T) {
	m, root := newBox(t)
	lk := held(t, m)
	stopped := child(t, "send", root, "birch", "1")
	start(t, stopped)
	awaitQueued(t, root, 1)
	if err := stopped.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	var st syscall.WaitStatus
	if _, err := syscall.Wait4(stopped.Process.Pid, &st, syscall.WUNTRACED, nil); err != nil || !st.Stopped() {
		t.Fatal(st, err)
	}
	said := send(t.Context(), sender(t, root), letter("x"))
	awaitQueued(t, root, 2)
	lk.Release()
	if s := <-said; s.err != nil {
		t.Error(s.err)
	}
	if err := stopped.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if err := stopped.Wait(); err != nil {
		t.Error(err)
	}
	if got, err := drain(t.Context(), m, "test"); err != nil || len(got) != 3 {
		t.Errorf("read %q, %v", bodies(got), err)
	}
}

// Room for some of those that wait: each is told what became of its own.
func TestAFullMailboxTellsEachSender(t *testing.T) {
	m, root := newBox(t)
	lk := held(t, m)
	var all []<-chan sent
	for i := range 6 {
		other := sender(t, root)
		other.most = 4
		all = append(all, send(t.Context(), other, letter(strconv.Itoa(i))))
	}
	awaitQueued(t, root, 6)
	lk.Release()
	var acked []string
	for _, said := range all {
		s := <-said
		if s.err == nil {
			acked = append(acked, s.Messages[0].ID)
		} else if !errors.Is(s.err, ErrFull) {
			t.Error(s.err)
		}
	}
	first, err := m.Head(t.Context(), 1)
	if err != nil || len(acked) != 3 {
		t.Fatalf("%d acknowledged, %v", len(acked), err)
	}
	wantIDs(t, m, append(acked, first[0].ID)...)
}

func TestWhoRepeatsAMessageAtOnceStoresItOnce(t *testing.T) {
	m, root := newBox(t)
	deliver(t, m, mail.Message{From: "birch", To: "amber", Content: "old", ID: "old"})
	lk, err := m.lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var all []<-chan sent
	for _, id := range []string{"new", "old", "new", "new", "old"} {
		all = append(all, send(t.Context(), sender(t, root), mail.Message{From: "birch", To: "amber", Content: id, ID: id, FromSession: "birch"}))
	}
	awaitQueued(t, root, 5)
	lk.Release()
	first := 0
	for _, said := range all {
		s := <-said
		if s.err != nil {
			t.Fatal(s.err)
		}
		if !s.Already[0] {
			first++
		}
	}
	if first != 1 {
		t.Errorf("%d senders were told that theirs was the first", first)
	}
	wantIDs(t, m, "old", "new")
}

// An ephemeral message leaves no trace, so only its own sender stores it.
func TestAnEphemeralMessageIsNotQueued(t *testing.T) {
	m, root := newBox(t)
	lk := held(t, m)
	msg := letter("x")
	msg.Ephemeral = true
	other := sender(t, root)
	if q := other.enqueue(&delivery{Stored: Stored{Messages: []mail.Message{msg}}, chosen: []bool{false}}); q != nil {
		t.Error("it is queued")
	}
	said := send(t.Context(), other, msg)
	lk.Release()
	if s := <-said; s.err != nil {
		t.Error(s.err)
	}
	if got := peek(t, m); got != "first x" {
		t.Errorf("waiting %q", got)
	}
}
