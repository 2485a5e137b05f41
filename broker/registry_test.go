package broker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestEachDamagedRegistryIsKept(t *testing.T) {
	w := newWorld(t)
	for _, text := range []string{`[{"one"`, `[{"two"`} {
		w.writeRegistry(text)
		w.attach(Caller{Client: "gem"})
		w.clock = w.clock.Add(time.Millisecond)
	}
	if kept := w.aside(registryFile); strings.Join(kept, " ") != `[{"one" [{"two"` {
		t.Errorf("kept %q", kept)
	}
}

// fill registers sessions until the registry takes no more.
func fill(w *world) (last Session, err error) {
	for i := 0; ; i++ {
		s, err := w.Register(context.Background(), Caller{Explicit: fmt.Sprint("s", i)}, fmt.Sprint("alias-", i))
		if err != nil {
			return last, err
		}
		last = s
		if i == 0 { // one row that nearly fills it: a thousand registrations take a second
			w.writeRegistry(strings.Replace(w.file(registryFile), `}`, `,"role":"`+strings.Repeat("x", registryMax-500)+`"}`, 1))
		}
	}
}

func TestAFullRegistryStillCarriesMailAndIsSwept(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	last, err := fill(w)
	if !errors.Is(err, ErrRegistryFull) || !strings.Contains(err.Error(), "c2c sweep") || len(w.file(registryFile)) > registryMax {
		t.Fatalf("%v; the registry has %d bytes", err, len(w.file(registryFile)))
	}
	w.send(last, "alias-0", "x")
	w.wantMail("s0", "x")
	w.clock = w.clock.Add(2 * time.Hour)
	if swept, err := w.Sweep(ctx, time.Hour); err != nil || len(swept.Sessions) < 2 {
		t.Fatalf("swept %d, %v", len(swept.Sessions), err)
	}
	w.register("birch", Caller{PID: 20})
}

// The original writes a registry of any size, and reads it as empty when it is too large.
func TestARegistryThatIsTooLargeMayShrink(t *testing.T) {
	w := newWorld(t)
	role := strings.Repeat("x", registryMax)
	w.writeRegistry(`[{"session_id":"s1","alias":"amber","registered_at":1.0},{"session_id":"s2","alias":"birch","client_type":"human","role":"` + role + `"}]`)
	if swept, err := w.Sweep(context.Background(), time.Hour); err != nil || len(swept.Sessions) != 1 {
		t.Errorf("swept %+v, %v", swept, err)
	}
	if got := w.file(registryFile); strings.Contains(got, "amber") || !strings.Contains(got, "birch") {
		t.Errorf("the registry is %.80s", got)
	}
}

// A root that is used every day has its 64 KiB full of sessions that have ended, and still takes a new one.
func TestAFullRegistryForgetsTheLongestAbsent(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	rows := []string{
		`{"session_id":"mail","alias":"mail","registered_at":1.0,"pid":77,"pid_start_time":1}`,
		`{"session_id":"person","alias":"person","client_type":"human","registered_at":1.0,"pid":77,"pid_start_time":1}`,
		`{"session_id":"unknown","alias":"unknown","registered_at":1.0}`,
		`{"session_id":"alive","alias":"alive","registered_at":1.0,"pid":10,"pid_start_time":1}`,
	}
	size := 0
	for i := 0; size < registryMax-len(rows[0])-600; i++ {
		rows = append(rows, fmt.Sprintf(`{"session_id":"s%d","alias":"s%[1]d","registered_at":%d.0,"pid":77,"pid_start_time":1}`, i, 1000+i))
		size += len(rows[len(rows)-1]) + 2
	}
	w.writeRegistry("[\n" + strings.Join(rows, ",\n") + "\n]\n")
	alive := Session{ID: "alive", Alias: "alive"}
	w.send(alive, "mail", "x")

	last := fmt.Sprint("s", len(rows)-5)
	for i := range 20 {
		w.register(fmt.Sprint("new-", i), Caller{Explicit: fmt.Sprint("n", i), PID: 20})
	}
	left := w.file(registryFile)
	for _, alias := range []string{"mail", "person", "unknown", "alive", "new-0", "new-19", last} {
		if !strings.Contains(left, fmt.Sprintf(`"alias":%q`, alias)) {
			t.Errorf("%s is forgotten", alias)
		}
	}
	if strings.Contains(left, `"alias":"s0"`) || len(left) > registryMax {
		t.Errorf("the longest absent is there, in %d bytes", len(left))
	}
	w.wantMail("mail", "x")
	if _, err := w.Resolve(ctx, Caller{Explicit: "s0"}); !errors.Is(err, ErrNoSession) {
		t.Errorf("s0: %v", err)
	}
}

// full is a registry of n sessions that are gone.
func full(w *world, n int) {
	var rows []row
	for i := range n {
		var r row
		r.setText("session_id", fmt.Sprintf("0190f3c2-0000-7000-8000-%012d", i))
		r.setText("alias", fmt.Sprint("claude-birch-", i))
		r.setTime("registered_at", 1746512345.25)
		r.setText("client_type", "claude")
		r.setInteger("pid", int64(100_000+i))
		r.setInteger("pid_start_time", 5)
		rows = append(rows, r)
	}
	w.writeRegistry(string(formatRegistry(rows)))
}

func BenchmarkAttach(b *testing.B) {
	for _, n := range []int{1, 400} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			w := newWorld(b)
			full(w, n)
			c := Caller{Client: "claude", ClientID: "u", PID: 10}
			w.attach(c)
			for b.Loop() {
				if _, err := w.Attach(context.Background(), c); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkResolveByAncestors(b *testing.B) {
	for _, n := range []int{1, 400} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			w := newWorld(b)
			for pid := 80; pid < 90; pid++ {
				w.procs[pid] = process{pid: pid, parent: pid - 1, start: int64(pid)}
			}
			w.procs[90] = process{pid: 90, parent: 89, start: 6}
			full(w, n)
			w.register("amber", Caller{Client: "claude", PID: 80})
			for b.Loop() {
				if _, err := w.Resolve(context.Background(), Caller{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A container that is made anew each day leaves sessions behind that nobody can see any more.
func TestAFullRegistryForgetsWhoCouldNotBeSeenForLong(t *testing.T) {
	w := newWorld(t)
	var rows []string
	for i := range 10 {
		rows = append(rows, fmt.Sprintf(`{"session_id":"s%d","alias":"s%[1]d","pid":77,"pid_start_time":1,"role":"%s"}`, i, strings.Repeat("x", 6400)))
		err := w.changeFacts(t.Context(), fmt.Sprint("s", i), func(f *facts) { f.PID, f.StartTime, f.Namespace = 77, 1, "pid:[9]" })
		if err != nil {
			t.Fatal(err)
		}
	}
	w.writeRegistry("[\n" + strings.Join(rows, ",\n") + "\n]\n")
	caller := Caller{Client: strings.Repeat("gem", 500), PID: 10}
	if _, err := w.Attach(t.Context(), caller); !errors.Is(err, ErrRegistryFull) {
		t.Errorf("the same day: %v", err)
	}
	w.clock = w.clock.Add(hiddenFor + time.Hour)
	w.attach(caller)
}

// A server keeps the rows that it has read, and sees at once what another process has changed.
func TestRowsThatWereKeptAreThoseOfTheFile(t *testing.T) {
	w := newWorld(t)
	w.attach(Caller{Explicit: "amber"})
	file := filepath.Join(w.Root(), registryFile)
	old := time.Now().Add(-time.Hour)
	for _, more := range []string{"birch", "cedar"} {
		if err := os.Chtimes(file, old, old); err != nil { // as old as one that does not change in the same tick
			t.Fatal(err)
		}
		for range 2 {
			if _, err := w.Resolve(t.Context(), Caller{Explicit: "amber"}); err != nil {
				t.Fatal(err)
			}
		}
		if w.lastRows.rows == nil {
			t.Fatal("no rows are kept")
		}
		other, err := Open(Config{Root: w.Root()})
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		if _, err := other.Attach(t.Context(), Caller{Explicit: more}); err != nil {
			t.Fatal(err)
		}
		w.wantResolve(more, Caller{Explicit: more})
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	w.wantNobody(ErrNoSession, Caller{Getenv: env("C2C_MCP_SESSION_ID", "amber")})
}

// The rows of a reading are kept for the next one: what a caller does with its own changes nothing there.
func TestARowThatACallerChangesIsItsOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.attach(Caller{Explicit: "amber"})
	w.attach(Caller{Explicit: "birch"})
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(w.Root(), registryFile), old, old); err != nil { // so that the rows are kept
		t.Fatal(err)
	}
	want := ""
	for range 3 {
		rows, err := w.readRegistry()
		if err != nil || len(rows) != 2 {
			t.Fatal(rows, err)
		}
		if got := string(formatRegistry(rows)); want == "" {
			want = got
		} else if got != want {
			t.Fatalf("the registry is\n%s, was\n%s", got, want)
		}
		rows[0].setText("role", "a long text, which would not fit where the row was")
		_ = append(rows[1], "and behind the row"...)
		rows[0], rows[1] = rows[1], nil
	}
}
