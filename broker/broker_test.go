package broker_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"c2c/broker"
	"c2c/inbox/mail"
	"c2c/sessions"
	"c2c/sessions/callers"
)

func (w *world) attach(c callers.Caller) sessions.Session {
	w.t.Helper()
	s, err := w.Attach(context.Background(), c)
	if err != nil {
		w.t.Fatalf("attach %+v: %v", c, err)
	}
	return s
}

func (w *world) register(alias string, c callers.Caller) sessions.Session {
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

func (w *world) send(from sessions.Session, to, body string) broker.Receipt {
	w.t.Helper()
	r, err := w.Send(context.Background(), from, mail.Message{To: to, Content: body})
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
	w.register("birch", callers.Caller{Client: "claude", ClientID: "u1", PID: w.pid(10)})
	if got := w.file(registryFile); !strings.Contains(got, theirs) {
		t.Errorf("registry is now %s\nwant in it %s", got, theirs)
	}
}

func TestTimesHaveAFraction(t *testing.T) {
	w := newWorld(t)
	w.clock = time.Unix(1746512345, 0)
	w.register("birch", callers.Caller{})
	if got := w.file(registryFile); !strings.Contains(got, `"registered_at":1746512345.0`) {
		t.Errorf("registry: %s", got)
	}
}

// logged is what the broker logs, which the command that met it writes to stderr.
func (w *world) logged() *strings.Builder {
	var out strings.Builder
	w.logs(slog.NewTextHandler(&out, nil))
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
		w.attach(callers.Caller{Client: "gem"})
		if kept := w.aside(registryFile); len(kept) != 1 {
			t.Errorf("%q: damaged again: %q", text, kept)
		}
	}
}

func TestLogKeepsOrder(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	for _, e := range []string{"one", "two", "three"} {
		if err := w.Events.Write(ctx, e, "alias", "amber"); err != nil {
			t.Fatal(err)
		}
	}
	lines, err := w.Events.Tail(2)
	if err != nil || len(lines) != 2 || !strings.Contains(string(lines[0]), "two") || !strings.Contains(string(lines[1]), "three") {
		t.Errorf("tail: %s, %v", lines, err)
	}
}

func TestWhatASessionSaysOfItselfIsShown(t *testing.T) {
	w := newWorld(t)
	s := w.register("amber", callers.Caller{Explicit: "amber"})
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

func TestOwnProcessIsAlive(t *testing.T) {
	w := newWorld(t)
	is := w.process(100)
	pid, _, _ := strings.Cut(is, ",")
	for process, want := range map[string]sessions.State{is: sessions.Alive, is + "1": sessions.Absent, pid + `,"pid_start_time":0`: sessions.Unknown} {
		w.writeRegistry(`[{"session_id":"s","alias":"amber",` + process + `}]`)
		if s, err := callers.Resolve(t.Context(), w.Registry, callers.Caller{Explicit: "s"}); err != nil || s.State != want {
			t.Errorf("%s: %s, %v, want %s", process, s.State, err, want)
		}
	}
}
