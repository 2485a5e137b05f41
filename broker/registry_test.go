package broker_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"c2c/broker"
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

// A root has no greatest number of sessions.
func TestAThousandSessionsLeaveRoomForOneMore(t *testing.T) {
	w := newWorld(t)
	var rows []string
	for i := range 1000 {
		rows = append(rows, fmt.Sprintf(`{"session_id":"0190f3c2-0000-7000-8000-%012d","alias":"claude-birch-%[1]d","client_type":"human","registered_at":1746512345.25}`, i))
	}
	w.writeRegistry("[\n" + strings.Join(rows, ",\n") + "\n]\n")
	birch := w.register("birch", callers.Caller{PID: w.pid(20)})
	w.send(birch, "claude-birch-999", "x")
	w.wantMail("0190f3c2-0000-7000-8000-000000000999", "x")
	if all, err := w.Rows(t.Context()); err != nil || len(all) != 1001 {
		t.Errorf("%d rows, %v", len(all), err)
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
