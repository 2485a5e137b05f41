package broker

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"c2c/broker/client"
	"c2c/inbox"
)

// table is a process table in memory; the test itself is process 100, child of 90.
type table map[int]process

func (t table) self() int { return 100 }

func (t table) environ(int) []string { return nil }

func (t table) namespace() string { return "pid:[1]" }

func (t table) opened(client.Profile, int) (map[string]bool, bool) { return nil, false }

func (t table) find(pid int) (process, error) {
	if p, ok := t[pid]; ok {
		return p, nil
	}
	return process{}, errNoProcess
}

// world is a broker with a clock and a process table that the test moves.
type world struct {
	*Broker
	t     testing.TB
	clock time.Time
	procs table
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{t: t, clock: time.Now(), procs: table{
		100: {pid: 100, parent: 90, start: 7}, 90: {pid: 90, parent: 1, start: 6},
		10: {pid: 10, parent: 1, start: 1}, 20: {pid: 20, parent: 1, start: 2}, 30: {pid: 30, parent: 1, start: 3},
	}}
	b, err := Open(Config{Root: filepath.Join(t.TempDir(), "broker"), Now: func() time.Time { return w.clock }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	b.proc = w.procs
	w.Broker = b
	return w
}

func (w *world) attach(c Caller) Session {
	w.t.Helper()
	s, err := w.Attach(context.Background(), c)
	if err != nil {
		w.t.Fatalf("attach %+v: %v", c, err)
	}
	return s
}

func (w *world) register(alias string, c Caller) Session {
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

func (w *world) send(from Session, to, body string) Receipt {
	w.t.Helper()
	r, err := w.Send(context.Background(), from, inbox.Message{To: to, Content: body})
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

func (w *world) writeRegistry(text string) {
	w.t.Helper()
	if err := w.Dir().Write(registryFile, []byte(text)); err != nil {
		w.t.Fatal(err)
	}
}

func TestRegistryKeepsFieldsItDoesNotKnow(t *testing.T) {
	w := newWorld(t)
	const theirs = `{"session_id":"s1","alias":"amber","later":{"a":[1, 2.50]},"registered_at":5.0,"enc_pubkey":"x<y"}`
	w.writeRegistry("[" + theirs + "]")
	w.register("birch", Caller{Client: "claude", ClientID: "u1", PID: 10})
	if got := w.file(registryFile); !strings.Contains(got, theirs) {
		t.Errorf("registry is now %s\nwant in it %s", got, theirs)
	}
}

func TestTimesHaveAFraction(t *testing.T) {
	w := newWorld(t)
	w.clock = time.Unix(1746512345, 0)
	w.register("birch", Caller{})
	if got := w.file(registryFile); !strings.Contains(got, `"registered_at":1746512345.0`) {
		t.Errorf("registry: %s", got)
	}
}

// logged is what the broker logs, which the command that met it writes to stderr.
func (w *world) logged() *strings.Builder {
	var out strings.Builder
	w.Broker.log = slog.New(slog.NewTextHandler(&out, nil))
	return &out
}

// aside gives the copies that were kept of a damaged file.
func (w *world) aside(name string) (copies []string) {
	w.t.Helper()
	paths, err := filepath.Glob(filepath.Join(w.Root(), name+".corrupt-*"))
	if err != nil {
		w.t.Fatal(err)
	}
	for _, path := range paths {
		copies = append(copies, w.file(filepath.Base(path)))
	}
	return copies
}

func TestADamagedRegistryIsKeptReportedAndCostsOnlyItsBadRows(t *testing.T) {
	const amber, birch = `{"session_id":"s1","alias":"amber","x":[{"y":1}]}`, `{"session_id":"s2","alias":"birch"}`
	for text, want := range map[string]string{
		`[{"session_id":"s1"`:   "",
		`[{"session_id":"s1"}]`: "",
		`{}`:                    "",
		`null`:                  "",
		``:                      "",
		`[` + amber + `,{"alias":"x"},` + birch + `]`:     "amber birch",
		`[` + amber + `,5,` + birch + `]`:                 "amber birch",
		`[` + birch + `,` + birch + `,{"session_id":"`:    "birch birch",
		"[\n" + amber + ",\n{\"sess\n" + birch + "\n]\n":  "amber birch",
		"[\n" + amber + ",\n" + birch + ",\n\x00\x00\x00": "amber birch",
	} {
		w := newWorld(t)
		out := w.logged()
		w.writeRegistry(text)
		sessions, err := w.Sessions(context.Background())
		var got []string
		for _, s := range sessions {
			got = append(got, s.Alias)
		}
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%q: sessions %v, %v; want %s", text, got, err, want)
		}
		if kept := w.aside(registryFile); len(kept) != 1 || kept[0] != text {
			t.Errorf("%q: kept as %q", text, kept)
		}
		if !strings.Contains(out.String(), "the registry was damaged") || !strings.Contains(w.file(logFile), `"event":"damaged"`) {
			t.Errorf("%q: logged %q and %q", text, out, w.file(logFile))
		}
		w.attach(Caller{Client: "gem"})
		if kept := w.aside(registryFile); len(kept) != 1 {
			t.Errorf("%q: damaged again: %q", text, kept)
		}
	}
}

func TestRegistryStaysBelowTheOriginalsLimit(t *testing.T) {
	w := newWorld(t)
	w.writeRegistry(`[{"session_id":"s1","alias":"amber","role":"` + strings.Repeat("x", registryMax-100) + `"}]`)
	before := w.file(registryFile)
	_, err := w.Attach(context.Background(), Caller{Client: "gem"})
	if !errors.Is(err, ErrRegistryFull) {
		t.Errorf("error %v, want ErrRegistryFull", err)
	}
	if w.file(registryFile) != before {
		t.Error("the registry was changed")
	}
}

func TestLogKeepsOrder(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	for _, e := range []string{"one", "two", "three"} {
		if err := w.LogEvent(ctx, e, Note{"alias", "amber"}); err != nil {
			t.Fatal(err)
		}
	}
	lines, err := w.TailLog(ctx, 2)
	if err != nil || len(lines) != 2 || !strings.Contains(string(lines[0]), "two") || !strings.Contains(string(lines[1]), "three") {
		t.Errorf("tail: %s, %v", lines, err)
	}
}

func TestOwnProcessIsAlive(t *testing.T) {
	w := newWorld(t)
	w.proc = new(system)
	p, err := w.proc.find(os.Getpid())
	if err != nil || p.parent != os.Getppid() || p.start == 0 {
		t.Fatalf("find self: %+v, %v", p, err)
	}
	for start, want := range map[int64]State{p.start: Alive, p.start + 1: Absent, 0: Unknown} {
		var r row
		r.setText("session_id", "s")
		r.setInteger("pid", int64(p.pid))
		r.setInteger("pid_start_time", start)
		if got := w.state(r); got != want {
			t.Errorf("started at %d: %s, want %s", start, got, want)
		}
	}
}

func FuzzParseRegistry(f *testing.F) {
	f.Add([]byte(`[{"session_id":"s","alias":"a","pid":1,"x":{"y":[1.0]}}]`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		rows, err := parseRegistry(data)
		if err != nil {
			return
		}
		again, err := parseRegistry(formatRegistry(rows))
		if err != nil || len(again) != len(rows) {
			t.Errorf("%q: read back %d of %d rows: %v", data, len(again), len(rows), err)
		}
	})
}

func TestWhatASessionSaysOfItselfIsShown(t *testing.T) {
	w := newWorld(t)
	s := w.register("amber", Caller{Explicit: "amber"})
	if err := w.Describe(t.Context(), s.ID, "reviewer"); err != nil {
		t.Fatal(err)
	}
	all, err := w.Sessions(t.Context())
	if err != nil || len(all) != 1 || all[0].Role != "reviewer" {
		t.Errorf("sessions %+v, %v", all, err)
	}
	if err := w.Describe(t.Context(), s.ID, "two\nlines"); err == nil {
		t.Error("a role of two lines is taken")
	}
}
