package ringer

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"c2c/broker"
	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
	"c2c/sessions"
	"c2c/sessions/callers"
	"c2c/wake"
	"c2c/wake/watch"
)

// bell is a doorbell that tells the test.
type bell chan wake.Notice

func (b bell) Ring(ctx context.Context, n wake.Notice) error {
	select {
	case b <- n:
	case <-ctx.Done():
	}
	return nil
}

// typing makes a ringer that types into the panes of sessions, as the wake daemon does.
func typing(t *testing.T) (r *Ringer, b *broker.Broker, s sessions.Session, rings bell) {
	t.Helper()
	root := filepath.Join(t.TempDir(), "root")
	open := func(root string) (*broker.Broker, error) { return broker.Open(broker.Config{Root: root}) }
	b, err := open(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	if s, err = b.Register(t.Context(), callers.Caller{Explicit: "amber", Client: "claude", PID: os.Getpid()}, "amber"); err != nil {
		t.Fatal(err)
	}
	rings = make(bell)
	scope := ByDaemon()
	scope.ways = func(wake.RingContext, wake.Session) (wake.Ways, error) {
		return wake.Ways{Methods: []wake.Method{{Name: "test", Doorbell: rings}}}, nil
	}
	return &Ringer{Scope: scope, Getenv: func(string) string { return "" }, Log: slog.New(slog.DiscardHandler),
		Root: func() (string, error) { return root, nil }}, b, s, rings
}

func TestAnAttachedPaneIsRungAtOnce(t *testing.T) {
	r, b, s, rings := typing(t)
	deliverTo(t, b, s)
	looked := make(chan bool, 1)
	sessionList := r.Scope.sessions
	r.Scope.sessions = func(ctx context.Context, r *Ringer, b *broker.Broker) ([]sessions.Session, error) {
		all, err := sessionList(ctx, r, b)
		select {
		case looked <- true:
		default:
		}
		return all, err
	}
	defer r.Start(t.Context())()
	<-looked // nobody may be rung yet
	if err := b.SetPane(t.Context(), s.ID, "tmux:%0:/tmp/x"); err != nil {
		t.Fatal(err)
	}
	select {
	case n := <-rings:
		if n.Oldest != "m-1" {
			t.Errorf("notice %+v", n)
		}
	case <-time.After(30 * time.Second): // half of the time after which it looks in any case
		t.Fatal("it is not rung")
	}
}

// The mailbox does not change when its session may be rung again, so the Watcher would look only
// after a minute.
func TestMailThatHasWaitedRingsAtOnceWhenDoNotDisturbEnds(t *testing.T) {
	r, b, s, rings := typing(t)
	if err := b.SetPane(t.Context(), s.ID, "tmux:%0:/tmp/x"); err != nil {
		t.Fatal(err)
	}
	if err := b.SetQuiet(t.Context(), s.ID, true); err != nil {
		t.Fatal(err)
	}
	deliverTo(t, b, s)
	defer r.Start(t.Context())()
	looked := func() bool {
		log, err := os.ReadFile(filepath.Join(b.Root(), "broker.log"))
		return err == nil && strings.Contains(string(log), string(wake.Filtered))
	}
	for end := time.Now().Add(30 * time.Second); !looked(); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatal("the Watcher has not looked while nothing may ring")
		}
	}
	if err := b.SetQuiet(t.Context(), s.ID, false); err != nil {
		t.Fatal(err)
	}
	select {
	case n := <-rings:
		if n.Oldest != "m-1" {
			t.Errorf("notice %+v", n)
		}
	case <-time.After(30 * time.Second): // half of the time after which it looks in any case
		t.Fatal("it is not rung")
	}
}

// What is typed into the terminal comes to the client that the terminal shows.
func TestAClientInTheShellOfAnotherIsNotRungByItsTerminal(t *testing.T) {
	r, b, outer, rings := typing(t)
	inner := exec.Command("sleep", "60")
	if err := inner.Start(); err != nil {
		t.Fatal(err)
	}
	defer inner.Wait()
	defer inner.Process.Kill()
	if s, err := b.Attach(t.Context(), callers.Caller{Client: "kimi", ClientID: "k1", PID: inner.Process.Pid}); err != nil || s.ID == outer.ID {
		t.Fatalf("%+v, %v", s, err)
	}
	r.Scope = Terminal(os.Getpid(), rings, false)
	all, err := r.sessions(t.Context(), b)
	if err != nil || len(all) != 1 || all[0].SID != outer.ID {
		t.Errorf("it types for %+v, %v", all, err)
	}
}

// A sender may rely on c2c start, and on the server in a client that is else rung only in its
// terminal, before the first ring, and no longer when they have ended: the client may run on.
func TestASessionHasABellAsLongAsItsRingerRuns(t *testing.T) {
	for _, client := range []string{"claude", "kimi"} {
		r, b, s, rings := typing(t)
		if client == "claude" {
			r.Scope = Terminal(os.Getpid(), rings, false)
		} else {
			ways := r.Scope.ways
			if _, err := b.Attach(t.Context(), callers.Caller{Explicit: s.ID, Client: client, PID: os.Getpid()}); err != nil {
				t.Fatal(err)
			}
			r.Scope, _ = Server(client, os.Getpid(), nil)
			r.Scope.ways = ways
		}
		stop := r.Start(t.Context())
		defer stop()
		hasBell(t, b, s)
		stop()
		s, err := callers.Resolve(t.Context(), b.Registry, callers.Caller{Explicit: s.ID})
		if support, why := b.Prober().Surface(s); err != nil || s.HasBell() || support != sessions.SurfaceDegraded {
			t.Errorf("the ringer of %s has ended: bell %v, %s, %s, %v", client, s.HasBell(), support, why, err)
		}
	}
}

// hasBell waits until a session has a bell.
func hasBell(t *testing.T, b *broker.Broker, s sessions.Session) {
	t.Helper()
	changes := watch.NewChanges()
	defer changes.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := changes.Until(ctx, filepath.Join(b.Root(), "sessions", s.ID+".lock"), func() (bool, error) {
		s, err := callers.Resolve(ctx, b.Registry, callers.Caller{Explicit: s.ID})
		return s.HasBell() && b.Prober().HasBell(s), err
	}); err != nil {
		t.Fatalf("%s has no bell: %v", s.Client, err)
	}
}

// lockFacts takes the lock of the session's facts, as a suspended process may have it.
func lockFacts(t *testing.T, b *broker.Broker, s sessions.Session) *atomicfile.Lock {
	t.Helper()
	dir, err := b.Dir().Sub("sessions", true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dir.Close() })
	lock, err := atomicfile.Acquire(t.Context(), dir, s.ID+".lock")
	if err != nil {
		t.Fatal(err)
	}
	return lock
}

func deliverTo(t *testing.T, b *broker.Broker, s sessions.Session) {
	t.Helper()
	box, err := b.Mailbox(s.ID)
	if err == nil {
		_, err = box.Deliver(t.Context(), mail.Message{From: "birch", To: "amber", Content: "x", ID: "m-1"})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Otherwise c2c start, and the server in a client, could not end as long as a suspended process
// holds the lock of the session's facts.
func TestARingerEndsAlthoughItCannotTakeItsBellBack(t *testing.T) {
	r, b, s, rings := typing(t)
	r.Scope = Terminal(os.Getpid(), rings, false)
	stop := r.Start(t.Context())
	hasBell(t, b, s)
	lock := lockFacts(t, b, s)
	ended := make(chan struct{})
	go func() { stop(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Error("the ringer waits for the lock")
	}
	lock.Release()
	<-ended
}

// A suspended process has the lock of the session's facts when the ringer starts.
func TestALockedFileOfFactsHoldsUpNoRingAndTheBellIsRecordedLater(t *testing.T) {
	r, b, s, rings := typing(t)
	r.Scope = Terminal(os.Getpid(), rings, false)
	lock := lockFacts(t, b, s)
	deliverTo(t, b, s)
	stop := r.Start(t.Context())
	defer stop()
	<-rings
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	hasBell(t, b, s)
}

// The wake daemon may end before the client does.
func TestTheWakeDaemonIsNoBellOfASession(t *testing.T) {
	r, b, s, rings := typing(t)
	if err := b.SetPane(t.Context(), s.ID, "tmux:%0:/tmp/x"); err != nil {
		t.Fatal(err)
	}
	deliverTo(t, b, s)
	stop := r.Start(t.Context())
	<-rings
	stop()
	if s, err := callers.Resolve(t.Context(), b.Registry, callers.Caller{Explicit: s.ID}); err != nil || s.HasBell() {
		t.Errorf("it has one: %+v, %v", s, err)
	}
}

// A client whose folder is not trusted, or that c2c is not set up in, has no tool to poll with.
func TestATerminalWithoutAServerIsToldWhatToRun(t *testing.T) {
	r, b, s, rings := typing(t)
	r.Scope = Terminal(os.Getpid(), rings, false)
	defer r.Start(t.Context())()
	deliverTo(t, b, s)
	select {
	case n := <-rings:
		if text := n.Text(n.What()); !strings.Contains(text, "run: c2c poll-inbox") {
			t.Errorf("typed %s", text)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("it is not rung")
	}
}

// The daemon may be about to ring when its person says no.
func TestWhatIsForbiddenMeanwhileIsNotTyped(t *testing.T) {
	r, b, s, _ := typing(t)
	if err := b.SetPane(t.Context(), s.ID, "tmux:%0:/tmp/x"); err != nil {
		t.Fatal(err)
	}
	all, err := r.sessions(t.Context(), b)
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	w, _, err := r.watcher(t.Context(), b, all[0])
	if err != nil {
		t.Fatal(err)
	}
	release, ok, err := w.Borrow()
	if err != nil || !ok {
		t.Fatal("allowed, and not rung", err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	if err := b.SetPane(t.Context(), s.ID, ""); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := w.Borrow(); ok || err != nil {
		t.Errorf("forbidden: %v, %v", ok, err)
	}
}

// Another program may have the process id of a client that is gone.
func TestAProcessIsUsedOnlyWhileItIsTheClients(t *testing.T) {
	r, _, s, _ := typing(t)
	if got := r.session(s); got.Process != os.Getpid() {
		t.Errorf("alive: %+v", got)
	}
	s.Process = 0 // gone, or in another PID namespace: there it may be alive by its lock
	if got := r.session(s); got.Process != 0 || s.State != sessions.Alive {
		t.Errorf("%s, and not known here: %+v", s.State, got)
	}
}

// What it has still loaded of c2c could not show the mail. After a new install it is rung again.
func TestAClientFromBeforeAnUninstallIsNotRung(t *testing.T) {
	r, b, s, rings := typing(t)
	home := t.TempDir()
	r.Getenv = func(name string) string { return map[string]string{"HOME": home}[name] }
	if err := os.Mkdir(filepath.Join(home, ".c2c"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := sessions.MarkUninstalled(r.Getenv, s.Client, ""); err != nil {
		t.Fatal(err)
	}
	mark := filepath.Join(home, ".c2c", "uninstalled", s.Client)
	data, err := os.ReadFile(mark)
	if err != nil {
		t.Fatal(err)
	}
	boot, _, _ := strings.Cut(string(data), " ")
	if err := os.WriteFile(mark, []byte(boot+" 9000000000000000000\n"), 0o600); err != nil { // this process is its client's
		t.Fatal(err)
	}
	if err := b.SetPane(t.Context(), s.ID, "tmux:%0:/tmp/x"); err != nil {
		t.Fatal(err)
	}
	box, err := b.Mailbox(s.ID)
	if err != nil {
		t.Fatal(err)
	}
	deliver := func(id string) {
		t.Helper()
		if _, err := box.Deliver(t.Context(), mail.Message{From: "birch", To: "amber", Content: "x", ID: id}); err != nil {
			t.Fatal(err)
		}
	}
	deliver("m-1")
	defer r.Start(t.Context())()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for looked := false; !looked; <-tick.C {
		log, _ := os.ReadFile(filepath.Join(b.Root(), "broker.log"))
		looked = strings.Contains(string(log), `"outcome":"filtered"`)
		select {
		case n := <-rings:
			t.Fatalf("it is rung: %+v", n)
		default:
		}
	}
	if err := sessions.ClearUninstalled(r.Getenv, s.Client); err != nil {
		t.Fatal(err)
	}
	deliver("m-2")
	if n := <-rings; n.Count != 2 || n.Oldest != "m-1" {
		t.Errorf("after the install: %+v", n)
	}
}
