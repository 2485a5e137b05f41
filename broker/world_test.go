package broker_test

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"c2c/broker"
	"c2c/client"
	"c2c/sessions"
	"c2c/sessions/callers"
)

// world is a broker with a clock that the test moves, and processes that it starts and ends.
type world struct {
	*broker.Broker
	cfg     broker.Config
	t       testing.TB
	clock   time.Time
	procs   map[int]int    // the ids of processes that run
	ended   map[int]int    // the ids of processes that have ended
	threads map[int]string // the paths of locks that processes have open
	table   table          // if it is not nil, the processes are only these, and a number is a process id
	started int
}

func newWorld(t testing.TB) *world { return newWorldOf(t, broker.Config{}) }

// newWorldOf gives a world whose broker has more in its configuration.
func newWorldOf(t testing.TB, cfg broker.Config) *world {
	t.Helper()
	// Times in files have whole microseconds. A clock with a fraction of one would be later than
	// the same moment in a file, nearly always.
	w := &world{t: t, clock: time.Now().Truncate(time.Microsecond), procs: map[int]int{}, ended: map[int]int{}, threads: map[int]string{}}
	cfg.Root, cfg.Now = filepath.Join(t.TempDir(), "broker"), func() time.Time { return w.clock }
	w.cfg = cfg
	w.reopen()
	t.Cleanup(func() {
		for n := range w.procs {
			w.ends(n)
		}
	})
	return w
}

// newTableWorld gives a world whose processes stand in a table, so that a test can say who started
// whom, when, and where.
func newTableWorld(t testing.TB) *world {
	t.Helper()
	w := newWorld(t)
	w.table = table{
		100: {PID: 100, Parent: 90, Start: 7}, 90: {PID: 90, Parent: 1, Start: 6},
		10: {PID: 10, Parent: 1, Start: 1}, 20: {PID: 20, Parent: 1, Start: 2}, 30: {PID: 30, Parent: 1, Start: 3},
	}
	w.Processes = w.table
	return w
}

// reopen has the broker use what the test has changed in its configuration.
func (w *world) reopen() {
	w.t.Helper()
	b, err := broker.Open(w.cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { b.Close() })
	if w.table != nil {
		b.Processes = w.table
	}
	w.Broker = b
}

// logs has the broker log to h.
func (w *world) logs(h slog.Handler) {
	w.t.Helper()
	w.cfg.Log = slog.New(h)
	w.reopen()
}

// noProcess is above every id that a process can have.
const noProcess = 1 << 30

// pid gives the id of a process. The tests number their processes: 10, 20 and 30 are there from the
// start, others once the test starts them. 100 is the test itself, and 90 its parent. A process
// that has ended keeps its id here.
func (w *world) pid(n int) int {
	w.t.Helper()
	if w.table != nil {
		return n
	}
	if n == 100 {
		return os.Getpid()
	}
	if n == 90 {
		return os.Getppid()
	}
	if pid := w.ended[n]; pid != 0 {
		return pid
	}
	if pid := w.procs[n]; pid != 0 {
		return pid
	}
	if n != 10 && n != 20 && n != 30 {
		return noProcess + n
	}
	return w.starts(n)
}

// starts starts a process, or another one in the place of one that has ended.
func (w *world) starts(n int) (pid int) {
	w.t.Helper()
	if w.table != nil {
		w.started++
		w.table[n] = sessions.Process{PID: n, Parent: 1, Start: int64(1000 + w.started)}
		return n
	}
	if w.procs[n] != 0 {
		w.ends(n)
	}
	delete(w.ended, n)
	w.procs[n] = start(w.t, w.threads[n])
	return w.procs[n]
}

// process gives a process as a row of the registry tells it.
func (w *world) process(n int) string {
	w.t.Helper()
	other := newWorld(w.t)
	other.register("any", callers.Caller{Explicit: "any", PID: w.pid(n)})
	is := regexp.MustCompile(`"pid":[0-9]+,"pid_start_time":[0-9]+`).FindString(other.file(registryFile))
	if is == "" {
		w.t.Fatalf("registry %s", other.file(registryFile))
	}
	return is
}

// opens has a process of Codex hold the lock of a thread that it has open, from its next start on.
func (w *world) opens(n int, thread string) {
	w.t.Helper()
	dir := filepath.Join(w.t.TempDir(), client.CodexLocks)
	w.threads[n] = filepath.Join(dir, thread+".lock")
	if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(w.threads[n], nil, 0o600)); err != nil {
		w.t.Fatal(err)
	}
}

// ends takes processes away. Their sessions are absent then.
func (w *world) ends(numbers ...int) {
	w.t.Helper()
	for _, n := range numbers {
		if w.table != nil {
			delete(w.table, n)
			continue
		}
		w.ended[n] = w.pid(n)
		if pid := w.procs[n]; pid != 0 {
			delete(w.procs, n)
			end(w.t, pid)
		}
	}
}
