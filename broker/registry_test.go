package broker_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"c2c/broker"
	"c2c/broker/moves"
	"c2c/sessions"
	"c2c/sessions/callers"
)

func TestEachDamagedRegistryIsKept(t *testing.T) {
	w := newWorld(t)
	for _, text := range []string{`[{"one"`, `[{"two"`} {
		w.writeRegistry(text)
		w.attach(callers.Caller{Client: "gem"})
		w.clock = w.clock.Add(time.Millisecond)
	}
	if kept := w.aside(registryFile); strings.Join(kept, " ") != `[{"one" [{"two"` {
		t.Errorf("kept %q", kept)
	}
}

// fill registers sessions until the registry takes no more.
func fill(w *world) (last sessions.Session, err error) {
	for i := 0; ; i++ {
		s, err := w.Register(context.Background(), callers.Caller{Explicit: fmt.Sprint("s", i)}, fmt.Sprint("alias-", i))
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
	if !errors.Is(err, sessions.ErrRegistryFull) || !strings.Contains(err.Error(), "c2c sweep") || len(w.file(registryFile)) > registryMax {
		t.Fatalf("%v; the registry has %d bytes", err, len(w.file(registryFile)))
	}
	w.send(last, "alias-0", "x")
	w.wantMail("s0", "x")
	w.clock = w.clock.Add(2 * time.Hour)
	if swept, err := moves.Sweep(ctx, w.Registry, time.Hour); err != nil || len(swept.Sessions) < 2 {
		t.Fatalf("swept %d, %v", len(swept.Sessions), err)
	}
	w.register("birch", callers.Caller{PID: w.pid(20)})
}

// The OCaml c2c writes a registry of any size, and reads it as empty when it is too large.
func TestARegistryThatIsTooLargeMayShrink(t *testing.T) {
	w := newWorld(t)
	role := strings.Repeat("x", registryMax)
	w.writeRegistry(`[{"session_id":"s1","alias":"amber","registered_at":1.0},{"session_id":"s2","alias":"birch","client_type":"human","role":"` + role + `"}]`)
	if swept, err := moves.Sweep(context.Background(), w.Registry, time.Hour); err != nil || len(swept.Sessions) != 1 {
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
		`{"session_id":"mail","alias":"mail","registered_at":1.0,"pid":1073741901,"pid_start_time":1}`,
		`{"session_id":"person","alias":"person","client_type":"human","registered_at":1.0,"pid":1073741901,"pid_start_time":1}`,
		`{"session_id":"unknown","alias":"unknown","registered_at":1.0}`,
		`{"session_id":"alive","alias":"alive","registered_at":1.0,` + w.process(10) + `}`,
	}
	size := 0
	for i := 0; size < registryMax-len(rows[0])-600; i++ {
		rows = append(rows, fmt.Sprintf(`{"session_id":"s%d","alias":"s%[1]d","registered_at":%d.0,"pid":1073741901,"pid_start_time":1}`, i, 1000+i))
		size += len(rows[len(rows)-1]) + 2
	}
	w.writeRegistry("[\n" + strings.Join(rows, ",\n") + "\n]\n")
	alive := sessions.Session{ID: "alive", Alias: "alive"}
	w.send(alive, "mail", "x")

	last := fmt.Sprint("s", len(rows)-5)
	for i := range 20 {
		w.register(fmt.Sprint("new-", i), callers.Caller{Explicit: fmt.Sprint("n", i), PID: w.pid(20)})
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
	if _, err := callers.Resolve(ctx, w.Registry, callers.Caller{Explicit: "s0"}); !errors.Is(err, sessions.ErrNoSession) {
		t.Errorf("s0: %v", err)
	}
}

// full is a registry of n sessions that are gone.
func full(w *world, n int) {
	var rows []string
	for i := range n {
		rows = append(rows, fmt.Sprintf(`{"session_id":"0190f3c2-0000-7000-8000-%012d","alias":"claude-birch-%[1]d","registered_at":1746512345.25,"client_type":"claude","pid":%d,"pid_start_time":5}`, i, 100_000+i))
	}
	w.writeRegistry("[\n" + strings.Join(rows, ",\n") + "\n]\n")
}

func BenchmarkAttach(b *testing.B) {
	for _, n := range []int{1, 400} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			w := newWorld(b)
			full(w, n)
			c := callers.Caller{Client: "claude", ClientID: "u", PID: w.pid(10)}
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
			w := newTableWorld(b)
			for pid := 80; pid < 90; pid++ {
				w.table[pid] = sessions.Process{PID: pid, Parent: pid - 1, Start: int64(pid)}
			}
			w.table[90] = sessions.Process{PID: 90, Parent: 89, Start: 6}
			full(w, n)
			w.register("amber", callers.Caller{Client: "claude", PID: w.pid(80)})
			for b.Loop() {
				if _, err := callers.Resolve(context.Background(), w.Registry, callers.Caller{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A container that is made anew each day leaves sessions behind that nobody can see any more.
func TestAFullRegistryForgetsWhoCouldNotBeSeenForLong(t *testing.T) {
	w := newWorld(t)
	if err := os.MkdirAll(filepath.Join(w.Root(), "sessions"), 0o700); err != nil {
		t.Fatal(err)
	}
	var rows []string
	for i := range 10 {
		rows = append(rows, fmt.Sprintf(`{"session_id":"s%d","alias":"s%[1]d","pid":1073741901,"pid_start_time":1,"role":"%s"}`, i, strings.Repeat("x", 6400)))
		facts := []byte(`{"pid":1073741901,"pid_start_time":1,"pid_namespace":"pid:[9]"}`)
		if err := os.WriteFile(filepath.Join(w.Root(), "sessions", fmt.Sprintf("s%d.json", i)), facts, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w.writeRegistry("[\n" + strings.Join(rows, ",\n") + "\n]\n")
	caller := callers.Caller{Client: strings.Repeat("gem", 500), PID: w.pid(10)}
	if _, err := w.Attach(t.Context(), caller); !errors.Is(err, sessions.ErrRegistryFull) {
		t.Errorf("the same day: %v", err)
	}
	w.clock = w.clock.Add(hiddenFor + time.Hour)
	w.attach(caller)
}

// A server keeps the rows that it has read, and sees at once what another process has changed.
func TestRowsThatWereKeptAreThoseOfTheFile(t *testing.T) {
	w := newWorld(t)
	w.attach(callers.Caller{Explicit: "amber"})
	file := filepath.Join(w.Root(), sessions.RegistryFileName)
	old := time.Now().Add(-time.Hour)
	for _, more := range []string{"birch", "cedar"} {
		if err := os.Chtimes(file, old, old); err != nil { // as old as one that does not change in the same tick
			t.Fatal(err)
		}
		for range 2 {
			if _, err := callers.Resolve(t.Context(), w.Registry, callers.Caller{Explicit: "amber"}); err != nil {
				t.Fatal(err)
			}
		}
		other, err := broker.Open(broker.Config{Root: w.Root()})
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		if _, err := other.Attach(t.Context(), callers.Caller{Explicit: more}); err != nil {
			t.Fatal(err)
		}
		w.wantResolve(more, callers.Caller{Explicit: more})
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	w.wantNobody(sessions.ErrNoSession, callers.Caller{Getenv: env("C2C_MCP_SESSION_ID", "amber")})
}
