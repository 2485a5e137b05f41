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
)

// The test program is also the daemon that a test starts, for the state directory HOME.
func TestMain(m *testing.M) {
	if !slices.Equal(os.Args[1:], []string{"daemon", "run"}) {
		os.Exit(m.Run())
	}
	d, err := Open(os.Getenv("HOME"), true)
	if err == nil {
		err = d.Work(context.Background(), Work{Log: slog.New(slog.NewTextHandler(os.Stderr, nil)), Version: "v1", Explain: error.Error,
			Needed: func(name string, r Record) bool { return r.Settings["needs"] == "" || exists(r.Settings["needs"]) }, Run: partOfTest})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "c2c:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func exists(path string) bool { _, err := os.Stat(path); return err == nil }

// partOfTest works, or does what its settings say.
func partOfTest(ctx context.Context, name string, r Record, ready func()) error {
	switch r.Settings["does"] {
	case "fail":
		return errors.New("the port is taken")
	case "panic":
		ready()
		panic("x")
	}
	ready()
	<-ctx.Done()
	return nil
}

func daemonIn(t *testing.T, home string) Daemon {
	t.Helper()
	d, err := Open(home, true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := d.Halt(context.Background()); err != nil {
			t.Error(err)
		}
		d.Close()
	})
	return d
}

func part(d Daemon, name string) Part { return Part{d, name, "part " + name} }

func (p Part) begin(t *testing.T, settings ...string) int {
	t.Helper()
	pid, err := p.Start(t.Context(), p.record(settings...), false)
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

func (p Part) record(settings ...string) Record {
	r := Record{Env: []string{"HOME=" + filepath.Dir(p.Dir.Path())}, Settings: map[string]string{}}
	for i := 0; i < len(settings); i += 2 {
		r.Settings[settings[i]] = settings[i+1]
	}
	return r
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
	r, _, err := d.Running()
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
	first := a.begin(t)
	if pid := b.begin(t); pid != first {
		t.Errorf("processes %d and %d", first, pid)
	}
	if pid := b.begin(t); pid != first {
		t.Errorf("started again: process %d", pid)
	}
	if ran, err := a.End(t.Context(), ""); !ran || err != nil {
		t.Error(ran, err)
	}
	if pid, err := b.PID(); pid != first || err != nil {
		t.Errorf("the other part has process %d, %v", pid, err)
	}
	if ran, err := b.End(t.Context(), ""); !ran || err != nil {
		t.Error(ran, err)
	}
	if runs, err := d.Runs(); runs || err != nil {
		t.Errorf("it runs without a part: %v", err)
	}
	if exists(filepath.Join(d.Dir.Path(), partsFile)) {
		t.Error("the list of no parts stays")
	}
	if ran, err := b.End(t.Context(), ""); ran || err != nil {
		t.Error(ran, err)
	}
}

func TestAPartThatPanicsBeginsAgainAndEndsNoOther(t *testing.T) {
	t.Parallel()
	d := daemonIn(t, t.TempDir())
	good, bad := part(d, "good"), part(d, "bad")
	pid := good.begin(t)
	if _, err := bad.On(t.Context(), bad.record("does", "panic"), false); err != nil {
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
	_, err := p.Start(t.Context(), p.record("does", "fail"), false)
	if err == nil || !strings.Contains(err.Error(), "part a did not start ("+d.Log()+"): the port is taken") {
		t.Errorf("%v", err)
	}
	if r, err := p.Record(); r.State != "" || err != nil {
		t.Errorf("%+v, %v", r, err)
	}
	until(t, "the daemon goes on", func() bool { runs, _ := d.Runs(); return !runs })
	p.begin(t)
}

func TestAStartThatFailsSwitchesThePartBack(t *testing.T) {
	t.Parallel()
	d := daemonIn(t, t.TempDir())
	on, off := part(d, "on"), part(d, "off")
	on.begin(t, "port", "1")
	if _, err := off.End(t.Context(), Off); err != nil {
		t.Fatal(err)
	}
	for _, p := range []Part{on, off} {
		want := State(p.ID)
		if _, err := p.Start(t.Context(), p.record("does", "fail"), false); err == nil {
			t.Error("it has started")
		}
		if r, err := p.Record(); r.State != want || r.Settings["does"] != "" || err != nil {
			t.Errorf("%s: %+v, %v", p.ID, r, err)
		}
	}
	until(t, "it does not run again", func() bool { runs, _ := on.Runs(); return runs })
}

// The caller waits no longer, but the daemon goes on starting: the part must still be on.
func TestAStartThatNobodyWaitsForLeavesThePartOn(t *testing.T) {
	t.Parallel()
	d := daemonIn(t, t.TempDir())
	p := part(d, "a")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Start(ctx, p.record(), false); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if r, err := p.Record(); r.State != On || err != nil {
		t.Errorf("%+v, %v", r, err)
	}
	until(t, "it does not run", func() bool { runs, _ := p.Runs(); return runs })
}

func TestAfterAKillEveryPartComesBackButThoseThatWereStopped(t *testing.T) {
	t.Parallel()
	d := daemonIn(t, t.TempDir())
	a, b, off := part(d, "a"), part(d, "b"), part(d, "off")
	pid := a.begin(t)
	b.begin(t)
	off.begin(t)
	if _, err := off.End(t.Context(), Off); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	until(t, "it was killed", func() bool { runs, _ := d.Runs(); return !runs })
	if err := d.Ensure(t.Context(), a.record().Env); err != nil {
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
	a.begin(t)
	if ran, err := d.Halt(t.Context()); !ran || err != nil {
		t.Fatal(ran, err)
	}
	if err := d.Ensure(t.Context(), a.record().Env); err != nil {
		t.Fatal(err)
	}
	if runs, err := d.Runs(); runs || err != nil {
		t.Errorf("it runs: %v", err)
	}
	b.begin(t)
	until(t, "the other part is not back", func() bool { return states(t, d)["a"] == Runs })
	if _, err := d.Halt(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := d.Resume(t.Context(), a.record().Env); err != nil {
		t.Fatal(err)
	}
	until(t, "not both are back", func() bool { s := states(t, d); return s["a"] == Runs && s["b"] == Runs })
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
			if pids[i], err = p.Start(t.Context(), p.record(), false); err != nil {
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
	p.begin(t, "needs", root)
	if err := os.Remove(root); err != nil {
		t.Fatal(err)
	}
	if err := d.change(t.Context(), func(*Switches) {}); err != nil { // otherwise it looks within a minute
		t.Fatal(err)
	}
	until(t, "it goes on", func() bool { runs, _ := d.Runs(); return !runs })
	if s, err := d.Switches(); len(s.Parts) != 0 || err != nil {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestADamagedListOfPartsEndsNothingAndIsNamed(t *testing.T) {
	t.Parallel()
	d := daemonIn(t, t.TempDir())
	p := part(d, "a")
	pid := p.begin(t)
	path := filepath.Join(d.Dir.Path(), partsFile)
	kept, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, []byte("{"), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.End(t.Context(), ""); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("%v", err)
	}
	if now, err := p.PID(); now != pid || err != nil {
		t.Errorf("process %d, %v", now, err)
	}
	if err := os.WriteFile(path, kept, 0o600); err != nil {
		t.Fatal(err)
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
	p := part(d, "a")
	p.begin(t)
	if ran, err := d.Remove(t.Context(), true); !ran || err != nil {
		t.Error(ran, err)
	}
	if s, err := d.Switches(); !s.Stopped || len(s.Parts) != 0 || err != nil {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := d.Remove(t.Context(), false); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(home); len(left) != 0 || err != nil {
		inside, _ := os.ReadDir(d.Dir.Path())
		t.Errorf("%v with %v, %v", left, inside, err)
	}
}
