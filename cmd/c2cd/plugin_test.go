package main

import (
	"bufio"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"

	"c2c/broker"
	"c2c/client"
	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
	"c2c/sessions"
	"c2c/sessions/callers"
)

// A plugin names its sessions, is given the mail of the one that is shown, and says what the model
// has.
func TestAPluginIsGivenTheMailOfTheSessionThatIsShown(t *testing.T) {
	root := t.TempDir() + "/root"
	b, err := broker.Open(broker.Config{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	started, err := b.Register(t.Context(), callers.Caller{Start: "amber", Client: "opencode"}, "amber")
	if err != nil {
		t.Fatal(err)
	}
	birch, err := b.Register(t.Context(), callers.Caller{Explicit: "birch"}, "birch")
	if err != nil {
		t.Fatal(err)
	}
	stdin, in := io.Pipe()
	out, stdout := io.Pipe()
	a := &app{stdin: stdin, stdout: stdout, stderr: io.Discard, log: slog.New(slog.DiscardHandler), getenv: func(name string) string {
		return map[string]string{"C2C_MCP_BROKER_ROOT": root, client.StartEnv: started.ID}[name]
	}}
	ended := make(chan int, 1)
	go func() { ended <- a.main(t.Context(), []string{"plugin", "opencode"}) }()
	lines := bufio.NewScanner(out)
	type line struct {
		Session, SID string
		Mail         []struct{ Key, Text string }
	}
	var early []line
	// next gives the next line that matches. Mail may come before the answer to the line that shows
	// its session.
	next := func(matches func(line) bool) (got line) {
		t.Helper()
		if i := slices.IndexFunc(early, matches); i >= 0 {
			got, early = early[i], slices.Delete(early, i, i+1)
			return got
		}
		for lines.Scan() {
			got = line{}
			if err := json.Unmarshal(lines.Bytes(), &got); err != nil {
				t.Fatalf("told %q: %v", lines.Text(), err)
			}
			if matches(got) {
				return got
			}
			early = append(early, got)
		}
		t.Fatal("no more lines:", lines.Err())
		return got
	}
	met := func(said string) string {
		t.Helper()
		if _, err := io.WriteString(in, said+"\n"); err != nil {
			t.Fatal(err)
		}
		return next(func(l line) bool { return l.SID != "" }).SID
	}
	given := func() line {
		t.Helper()
		return next(func(l line) bool { return l.Mail != nil })
	}
	send := func(alias, id string) {
		t.Helper()
		if _, err := b.Send(t.Context(), birch, mail.Message{To: alias, Content: "word-" + id, ID: id}); err != nil {
			t.Fatal(err)
		}
	}
	one := met(`{"session":"ses-1","shown":true}`)
	if one != started.ID {
		t.Errorf("the first session is %q, want the one that was started, %q", one, started.ID)
	}
	two := met(`{"session":"ses-2","shown":true}`)
	if two == one {
		t.Error("two sessions have one mailbox")
	}
	if again := met(`{"session":"ses-1"}`); again != one {
		t.Errorf("it is %q now", again)
	}
	s, err := callers.Resolve(t.Context(), b.Registry, callers.Caller{Explicit: two})
	if err != nil {
		t.Fatal(err)
	}
	send("amber", "m-1")
	send(s.Alias, "m-2")
	got := given() // of the one that is shown
	if len(got.Mail) != 1 || !strings.Contains(got.Mail[0].Text, "word-m-2") {
		t.Fatalf("given %+v", got)
	}
	if _, err := io.WriteString(in, `{"session":"ses-2","has":["`+got.Mail[0].Key+`"]}`+"\n"); err != nil {
		t.Fatal(err)
	}
	met(`{"session":"ses-1","shown":true}`)
	if got = given(); len(got.Mail) != 1 || !strings.Contains(got.Mail[0].Text, "word-m-1") {
		t.Fatalf("given %+v", got)
	}
	in.Close()
	if status := <-ended; status != 0 {
		t.Errorf("exit %d", status)
	}
	for id, want := range map[string]string{"m-1": sessions.Queued, "m-2": sessions.Read} {
		if st, err := b.Status(t.Context(), id); err != nil || st.State != want && want == sessions.Read {
			t.Errorf("%s is %s, %v; want %s", id, st.State, err, want)
		}
	}
}

// Somebody has put another directory in place of the root, with the same sessions.
func TestAPluginServesItsSessionsInARootThatIsMadeAnew(t *testing.T) {
	root := t.TempDir() + "/root"
	a := &app{log: slog.New(slog.DiscardHandler), getenv: func(name string) string {
		return map[string]string{"C2C_MCP_BROKER_ROOT": root}[name]
	}}
	p := &pluginSessions{begin: func(string) {}, app: a, client: "opencode", pid: os.Getpid()}
	defer p.leave()
	sid, err := p.meet(t.Context(), "ses-1")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(root, root+".old"); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(root, os.DirFS(root+".old")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(root, 0o700); err != nil {
		t.Fatal(err)
	}
	if again, err := p.meet(t.Context(), "ses-1"); err != nil || again != sid {
		t.Fatalf("%q is %q now, %v", sid, again, err)
	}
	for dir, served := range map[string]bool{root: true, root + ".old": false} {
		d, err := atomicfile.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		lock, err := atomicfile.OpenLocked(d, sid+".server.lock")
		if err != nil {
			t.Fatal(err)
		}
		if free, err := lock.Try(); err != nil || free == served {
			t.Errorf("%s: served %v, want %v; %v", dir, !free, served, err)
		}
		lock.Release()
	}
}

// Prune holds the lock of a session for a moment.
func TestAPluginThatCannotServeASessionServesItLater(t *testing.T) {
	root := t.TempDir() + "/root"
	a := &app{log: slog.New(slog.DiscardHandler), getenv: func(name string) string {
		return map[string]string{"C2C_MCP_BROKER_ROOT": root}[name]
	}}
	p := &pluginSessions{begin: func(string) {}, app: a, client: "opencode", pid: os.Getpid()}
	sid, err := p.meet(t.Context(), "ses-1")
	if err != nil {
		t.Fatal(err)
	}
	p.leave()
	p.b = nil
	d, err := atomicfile.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	lock, err := atomicfile.Acquire(t.Context(), d, sid+".server.lock")
	if err != nil {
		t.Fatal(err)
	}
	for _, served := range []bool{false, true} {
		if _, err := p.meet(t.Context(), "ses-1"); err != nil || (p.served[sid] != nil) != served {
			t.Errorf("served %v, want %v; %v", !served, served, err)
		}
		lock.Release()
	}
	p.leave()
}
