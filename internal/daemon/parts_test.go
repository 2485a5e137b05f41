package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"c2c/internal/atomicfile"
)

// The test program is also the daemon that a test starts, for the state directory HOME.
func TestMain(m *testing.M) {
	if !slices.Equal(os.Args[1:], []string{"daemon", "run"}) {
		os.Exit(m.Run())
	}
	fmt.Fprintln(os.Stderr, "begins as process", os.Getpid())
	d, err := Open(os.Getenv("HOME"), true)
	if err == nil {
		err = d.Work(context.Background(), Work{Log: slog.New(slog.NewTextHandler(os.Stderr, nil)), Version: "v1",
			Needed: func(_, how string) bool {
				root, needs := strings.CutPrefix(how, "needs ")
				return !needs || exists(root)
			}, Run: partOfTest})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "c2c:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func exists(path string) bool { _, err := os.Stat(path); return err == nil }

// partOfTest works, or does what its settings say.
func partOfTest(ctx context.Context, _, how string, report func(any)) error {
	switch how {
	case "fail":
		return errors.New("the port is taken")
	case "panic":
		report("x")
		panic("x")
	}
	report("x")
	<-ctx.Done()
	return nil
}

func daemonIn(t *testing.T, home string) Daemon {
	t.Helper()
	d, err := Open(home, true)
	if err != nil {
		t.Fatal(err)
	}
	d.Env = []string{"HOME=" + home}
	t.Cleanup(func() {
		if _, err := d.Halt(context.Background(), false); err != nil {
			t.Error(err)
		}
		d.Close()
	})
	return d
}

func part(d Daemon, name string) Part { return Part{d, name, "part " + name} }

func (p Part) begin(t *testing.T, how string) int {
	t.Helper()
	pid, err := p.Start(t.Context(), Begin{How: how})
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

func (p Part) entry(t *testing.T) Switch {
	t.Helper()
	s, err := p.Switches()
	if err != nil {
		t.Fatal(err)
	}
	return s.Of(p.ID)
}

// until waits for what another process does.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); <-time.After(lookTime) {
		if time.Now().After(end) {
			t.Fatal(what)
		}
	}
}

func states(t *testing.T, d Daemon) map[string]State {
	t.Helper()
	r, err := d.Running()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]State{}
	for name, a := range r.Parts {
		all[name] = a.State
	}
	return all
}

func TestOneProcessHasAllPartsAndEndsWithTheLast(t *testing.T) {
	t.Parallel()
	d := daemonIn(t, t.TempDir())
	a, b := part(d, "a"), part(d, "b /root")
	first := a.begin(t, "")
	if pid := b.begin(t, ""); pid != first {
		t.Errorf("processes %d and %d", first, pid)
	}
	if pid := b.begin(t, ""); pid != first {
		t.Errorf("started again: process %d", pid)
	}
	if ran, err := a.End(t.Context(), false); !ran || err != nil {
		t.Error(ran, err)
	}
	if pid, err := b.PID(); pid != first || err != nil {
		t.Errorf("the other part has process %d, %v", pid, err)
	}
	if ran, err := b.End(t.Context(), false); !ran || err != nil {
		t.Error(ran, err)
	}
	if runs, err := d.Runs(); runs || err != nil {
		t.Errorf("it runs without a part: %v", err)
	}
	if exists(filepath.Join(d.Dir.Path(), partsFile)) {
		t.Error("the list of no parts stays")
	}
	if ran, err := b.End(t.Context(), false); ran || err != nil {
		t.Error(ran, err)
	}
}

func TestAPartThatPanicsBeginsAgainAndEndsNoOther(t *testing.T) {
	t.Parallel()
	d := daemonIn(t, t.TempDir())
	good, bad := part(d, "good"), part(d, "bad")
	pid := good.begin(t, "")
	if _, _, err := bad.On(t.Context(), Begin{How: "panic"}); err != nil {
		t.Fatal(err)
	}
	until(t, "it never begins again", func() bool {
		log, _ := os.ReadFile(d.Log())
		return strings.Count(string(log), "work=bad") >= 2
	})
	if now, err := good.PID(); now != pid || err != nil {
		t.Errorf("the other part has process %d, %v, it was %d", now, err, pid)
	}
	until(t, "nobody is told why", func() bool { a, _, _ := bad.Active(); return a.Error == ErrPanic.Error() })
}

func TestAStartThatFailsSaysWhyAndLeavesThePartOff(t *testing.T) {
	t.Parallel()
	d := daemonIn(t, t.TempDir())
	p := part(d, "a")
	_, err := p.Start(t.Context(), Begin{How: "fail", Anew: true})
	if err == nil || !strings.Contains(err.Error(), "part a did not start ("+d.Log()+"): the port is taken") {
		t.Errorf("%v", err)
	}
	if now := p.entry(t); now != (Switch{}) {
		t.Errorf("%+v", now)
	}
	until(t, "the daemon goes on", func() bool { runs, _ := d.Runs(); return !runs })
	p.begin(t, "")
}

func TestAStartThatFailsSwitchesThePartBack(t *testing.T) {
	t.Parallel()
	d := daemonIn(t, t.TempDir())
	on, off := part(d, "on"), part(d, "off")
	on.begin(t, "port 1")
	if _, err := off.End(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	for _, p := range []Part{on, off} {
		want := p.entry(t)
		if _, err := p.Start(t.Context(), Begin{How: "fail", Anew: true}); err == nil {
			t.Error("it has started")
		}
		if now := p.entry(t); now != want {
			t.Errorf("%+v, want %+v", now, want)
		}
	}
	until(t, "it does not run again", func() bool { pid, _ := on.PID(); return pid != 0 })
}

// The caller waits no longer, but the daemon goes on starting: the part must still be on.
func TestAStartThatNobodyWaitsForLeavesThePartOn(t *testing.T) {
	t.Parallel()
	d := daemonIn(t, t.TempDir())
	p := part(d, "a")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if pid, err := p.Start(ctx, Begin{}); pid == 0 && !errors.Is(err, context.Canceled) { // on a busy machine it may run already
		t.Error(err)
	}
	if now := p.entry(t); now.Run == "" || now.Stopped {
		t.Errorf("%+v", now)
	}
	until(t, "it does not run", func() bool { pid, _ := p.PID(); return pid != 0 })
}

func TestAfterAKillEveryPartComesBackButThoseThatWereStopped(t *testing.T) {
	t.Parallel()
	d := daemonIn(t, t.TempDir())
	a, b, off := part(d, "a"), part(d, "b"), part(d, "off")
	pid := a.begin(t, "")
	b.begin(t, "")
	off.begin(t, "")
	if _, err := off.End(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	until(t, "it was killed", func() bool { runs, _ := d.Runs(); return !runs })
	if err := d.Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	until(t, "not all are back", func() bool { s := states(t, d); return len(s) == 2 && s["a"] == Runs && s["b"] == Runs })
	if now, err := a.PID(); now == pid || err != nil {
		t.Errorf("process %d, %v", now, err)
	}
}

func TestADaemonThatWasStoppedStartsOnlyForAPerson(t *testing.T) {
	t.Parallel()
	d := daemonIn(t, t.TempDir())
	a, b := part(d, "a"), part(d, "b")
	a.begin(t, "")
	if ran, err := d.Halt(t.Context(), false); !ran || err != nil {
		t.Fatal(ran, err)
	}
	if err := d.Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	if runs, err := d.Runs(); runs || err != nil {
		t.Errorf("it runs: %v", err)
	}
	b.begin(t, "")
	until(t, "the other part is not back", func() bool { return states(t, d)["a"] == Runs })
	if _, err := d.Halt(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	if err := d.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	until(t, "not both are back", func() bool { s := states(t, d); return s["a"] == Runs && s["b"] == Runs })
}

// The disk was full for a moment. Otherwise a start would wait in vain for what it has caused.
func TestWhatTheDaemonDoesIsRecordedAgainAfterAFailure(t *testing.T) {
	t.Parallel()
	d := daemonIn(t, t.TempDir())
	part(d, "a").begin(t, "")
	obstacle := filepath.Join(d.Dir.Path(), runningFile)
	if err := errors.Join(os.Remove(obstacle), os.Mkdir(obstacle, 0o700)); err != nil {
		t.Fatal(err)
	}
	if err := d.change(t.Context(), func(s Switches) (Switches, error) { return s.put("b", Switch{Part: "b", Run: "1"}), nil }); err != nil {
		t.Fatal(err)
	}
	until(t, "the part does not begin", func() bool { // both records of it have failed
		log, _ := os.ReadFile(d.Log())
		return strings.Count(string(log), "was not recorded") >= 2
	})
	if err := os.Remove(obstacle); err != nil {
		t.Fatal(err)
	}
	until(t, "it is not recorded", func() bool { return states(t, d)["b"] == Runs })
}

func TestOfManyStartsOneDaemonRuns(t *testing.T) {
	t.Parallel()
	d := daemonIn(t, t.TempDir())
	pids := make([]int, 6)
	var starts sync.WaitGroup
	for i := range pids {
		p := part(d, fmt.Sprint(i%3))
		starts.Go(func() {
			var err error
			if pids[i], err = p.Start(t.Context(), Begin{}); err != nil {
				t.Error(err)
			}
		})
	}
	starts.Wait()
	if slices.Sort(pids); pids[0] != pids[len(pids)-1] {
		t.Errorf("processes %v", pids)
	}
}

func TestAPartThatNothingNeedsIsSwitchedOff(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	d := daemonIn(t, home)
	root := filepath.Join(home, "root")
	if err := os.Mkdir(root, 0o700); err != nil {
		t.Fatal(err)
	}
	p := part(d, "a")
	p.begin(t, "needs "+root)
	if err := os.Remove(root); err != nil {
		t.Fatal(err)
	}
	if err := d.change(t.Context(), func(s Switches) (Switches, error) { return s, nil }); err != nil { // otherwise it looks within a minute
		t.Fatal(err)
	}
	until(t, "it goes on", func() bool { runs, _ := d.Runs(); return !runs })
	if s, err := d.Switches(); len(s) != 0 || err != nil {
		t.Errorf("%+v, %v", s, err)
	}
}

// The daemon does not know what is on, so it goes on. A command sets the list aside.
func TestADamagedListOfPartsEndsNothingUntilACommandSetsItAside(t *testing.T) {
	t.Parallel()
	d := daemonIn(t, t.TempDir())
	p := part(d, "a")
	pid := p.begin(t, "")
	path := filepath.Join(d.Dir.Path(), partsFile)
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Switches(); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("%v", err)
	}
	if l, err := atomicfile.Acquire(t.Context(), d.Dir, partsLock); err != nil || l.Release() != nil { // it looks
		t.Fatal(err)
	}
	until(t, "the daemon does not say so", func() bool {
		log, _ := os.ReadFile(d.Log())
		return strings.Contains(string(log), "what is switched on cannot be read")
	})
	if now, err := p.PID(); now != pid || err != nil {
		t.Errorf("process %d, %v", now, err)
	}
	if ran, err := d.Halt(t.Context(), false); !ran || err != nil {
		t.Errorf("stop: %v, %v", ran, err)
	}
	if aside, err := filepath.Glob(path + ".corrupt-*"); len(aside) != 1 {
		t.Errorf("set aside: %q, %v", aside, err)
	}
	if s, err := d.Switches(); len(s) != 1 || !s.Stopped(Whole) || err != nil {
		t.Errorf("%+v, %v", s, err)
	}
}

// A restart stays in the process that systemd or a terminal waits for.
func TestARestartKeepsTheProcessAndTheLock(t *testing.T) {
	t.Parallel()
	d := daemonIn(t, t.TempDir())
	a, b := part(d, "a"), part(d, "b")
	pid := a.begin(t, "")
	b.begin(t, "")
	free, over := make(chan bool), make(chan bool)
	go func() { // as another process that looks whether to start one
		defer close(free)
		for {
			if runs, err := d.Runs(); err != nil || !runs {
				free <- true
				return
			}
			select {
			case <-over:
				return
			default:
			}
		}
	}()
	if ran, err := d.Restart(t.Context()); !ran || err != nil {
		t.Fatal(ran, err)
	}
	until(t, "not both are back", func() bool { s := states(t, d); return s["a"] == Runs && s["b"] == Runs })
	close(over)
	if <-free {
		t.Error("for a moment the lock was free")
	}
	now, err := d.Running()
	if now.PID != pid || err != nil {
		t.Errorf("process %d, it was %d; %v", now.PID, pid, err)
	}
	if log, err := os.ReadFile(d.Log()); strings.Count(string(log), "begins as process") != 2 || err != nil {
		t.Errorf("%s, %v", log, err)
	}
	if err := d.say(filepath.Join(t.TempDir(), "none") + "\n"); err != nil {
		t.Fatal(err)
	}
	until(t, "it goes on without the program", func() bool { runs, _ := d.Runs(); return !runs })
}

// A command is killed after one of its steps.
func TestWhatAKilledCommandLeavesIsCarriedOn(t *testing.T) {
	t.Parallel()
	d := daemonIn(t, t.TempDir())
	a := part(d, "a")
	if _, _, err := a.On(t.Context(), Begin{}); err != nil { // a start
		t.Fatal(err)
	}
	runs := func() {
		t.Helper()
		if err := d.Ensure(t.Context()); err != nil {
			t.Fatal(err)
		}
		until(t, "it does not run", func() bool { return states(t, d)["a"] == Runs })
	}
	ends := func() {
		t.Helper()
		until(t, "it does not end", func() bool { runs, _ := d.Runs(); return !runs })
	}
	runs()
	if err := d.say(""); err != nil { // a restart of another version: it ends, and is still on
		t.Fatal(err)
	}
	ends()
	runs()
	pid, err := d.PID()
	if err == nil {
		err = errors.Join(syscall.Kill(pid, syscall.SIGSTOP), d.say("/bin/true\n"), syscall.Kill(pid, syscall.SIGKILL)) // a restart, and its daemon, too
	}
	if err != nil {
		t.Fatal(err)
	}
	ends()
	runs()
	err = d.change(t.Context(), func(s Switches) (Switches, error) { return s.put(Whole, Switch{Part: Whole, Stopped: true}), nil }) // a stop
	if err != nil {
		t.Fatal(err)
	}
	ends()
	if err := d.Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	if up, err := d.Runs(); up || err != nil {
		t.Errorf("it runs: %v", err)
	}
}

// The check and the change are one step.
func TestWhatAPersonHasStoppedIsNotStartedUnasked(t *testing.T) {
	t.Parallel()
	d := daemonIn(t, t.TempDir())
	p, other := part(d, "a"), part(d, "b")
	unasked := Begin{Unasked: true}
	if _, err := p.Start(t.Context(), unasked); err != nil {
		t.Fatal(err)
	}
	if _, err := p.End(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Start(t.Context(), unasked); !errors.Is(err, ErrStopped) {
		t.Errorf("the part was stopped: %v", err)
	}
	p.begin(t, "")
	if _, err := d.Halt(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	for _, part := range []Part{p, other} {
		if _, err := part.Start(t.Context(), unasked); !errors.Is(err, ErrStopped) {
			t.Errorf("the daemon was stopped: %v", err)
		}
	}
	if s, err := d.Switches(); !s.Stopped(Whole) || err != nil {
		t.Errorf("%+v, %v", s, err)
	}
}

// Not beside other tests: a process that they just start has copies of the open locks.
func TestRemoveLeavesNothing(t *testing.T) {
	home := t.TempDir()
	d, err := Open(home, true)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	d.Env = []string{"HOME=" + home}
	p := part(d, "a")
	p.begin(t, "")
	if ran, err := d.Halt(t.Context(), true); !ran || err != nil {
		t.Error(ran, err)
	}
	if s, err := d.Switches(); !s.Stopped(Whole) || len(s) != 1 || err != nil {
		t.Errorf("%+v, %v", s, err)
	}
	if err := d.Remove(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(home); len(left) != 0 || err != nil {
		inside, _ := os.ReadDir(d.Dir.Path())
		t.Errorf("%v with %v, %v", left, inside, err)
	}
}
