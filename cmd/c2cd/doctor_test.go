package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"c2c/broker"
	"c2c/broker/owed"
	"c2c/client"
	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
	"c2c/internal/format"
	"c2c/sessions"
	"c2c/sessions/callers"
	"c2c/wake"
)

// clinic is a home with a root, in which a doctor looks around.
type clinic struct {
	t         *testing.T
	home, c2c string
	b         *broker.Broker
}

func newClinic(t *testing.T) clinic { return newClinicAt(t, "home") }

func newClinicAt(t *testing.T, name string) clinic {
	t.Helper()
	home := filepath.Join(t.TempDir(), name)
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	b, err := broker.Open(broker.Config{Root: filepath.Join(home, "root")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	self, err := os.Executable() // something that can be run
	if err != nil {
		t.Fatal(err)
	}
	return clinic{t, home, self, b}
}

func (c clinic) run(args ...string) string {
	c.t.Helper()
	var out bytes.Buffer
	a := &app{stdout: &out, stderr: &out, cwd: c.home, c2c: c.c2c, getenv: func(name string) string {
		return map[string]string{"HOME": c.home, "C2C_MCP_BROKER_ROOT": c.b.Root()}[name]
	}}
	a.main(c.t.Context(), args)
	return out.String()
}

// session registers somebody with the process, and has birch send them mail.
func (c clinic) session(client, alias string, pid int) (id, message string) {
	c.t.Helper()
	s, err := c.b.Register(c.t.Context(), callers.Caller{Explicit: alias, Client: client, ClientID: "of-" + alias, PID: pid}, alias)
	if err != nil {
		c.t.Fatal(err)
	}
	from := sessions.Session{ID: "birch", Alias: "birch"}
	if _, err := c.b.Send(c.t.Context(), from, mail.Message{To: alias, Content: "hello", ID: "m-" + alias}); err != nil {
		c.t.Fatal(err)
	}
	return s.ID, "m-" + alias
}

func (c clinic) rang(id string, r wake.Ring) {
	c.t.Helper()
	r.From = "birch"
	if err := c.b.Rang(c.t.Context(), id, r); err != nil {
		c.t.Fatal(err)
	}
}

// line is the one of doctor's report that begins so.
func (c clinic) line(begins string) string {
	c.t.Helper()
	out := c.run("doctor", "--verbose")
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, begins) {
			return strings.TrimSuffix(line, "\n")
		}
	}
	c.t.Errorf("no line %q in\n%s", begins, out)
	return ""
}

func TestDoctorTellsWhyASessionWasNotRungAndWhatToDo(t *testing.T) {
	now, other := time.Now().UTC().Truncate(time.Second), exec.Command("cat")
	if _, err := other.StdinPipe(); err != nil { // it waits there
		t.Fatal(err)
	}
	locks := filepath.Join(t.TempDir(), client.CodexLocks)
	if err := os.Mkdir(locks, 0o700); err != nil {
		t.Fatal(err)
	}
	thread, err := os.Create(filepath.Join(locks, "of-amber.lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer thread.Close()
	other.ExtraFiles = []*os.File{thread} // as a Codex that has the thread open
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	ended := func() { other.Process.Kill(); other.Wait() }
	defer ended()
	for _, tc := range []struct {
		client string
		ring   wake.Ring
		want   string // between the session's name and the remedy
		remedy string // "" with status ok
	}{
		{"claude", wake.Ring{At: now, Method: wake.ByTerminal, Outcome: wake.Uncaptured, Cause: "a draft"},
			"uncaptured by terminal at " + now.Format(time.RFC3339) + ": a draft", "empty its prompt or answer its dialog: it is rung again"},
		{"claude", wake.Ring{At: now, Method: wake.BySocket, Outcome: wake.Failed, Cause: "gone"}, "failed by socket", "c2c start --alias amber claude;"},
		{"claude", wake.Ring{At: now, Method: wake.BySocket, Outcome: wake.Uncaptured, Cause: "no sign"}, "no sign", "c2c doctor checks its hooks"},
		{"claude", wake.Ring{At: now.Add(-2 * time.Minute), Method: wake.ByChannel, Outcome: wake.Rang},
			"and nobody has read since", "c2c start --channel claude"},
		{"claude", wake.Ring{At: now.Add(-2 * time.Minute), Method: wake.BySocket, Outcome: wake.Rang}, "rang by socket", "dialog"},
		{"codex", wake.Ring{At: now, Method: wake.ByServer, Outcome: wake.Uncaptured, Cause: "it asks"}, "it asks", "answer what it asks"},
		{"codex", wake.Ring{At: now, Method: wake.ByQueue, Outcome: wake.Failed, Cause: "it ends"}, "it ends", "c2c start --alias amber codex;"},
		{"codex", wake.Ring{At: now, Method: wake.ByServer, Outcome: wake.Away, Cause: "no terminal"}, "no terminal", "register --unattended"},
		{"claude", wake.Ring{At: now, Method: wake.BySocket, Outcome: wake.Failed, Oldest: "m-before"}, "has been read since", ""},
		{"codex", wake.Ring{At: now, Method: wake.ByServer, Outcome: wake.Failed}, "it is not there: its mail waits", ""},
	} {
		c := newClinic(t)
		id, message := c.session(tc.client, "amber", other.Process.Pid)
		if tc.ring.Oldest == "" {
			tc.ring.Oldest = message
		}
		c.rang(id, tc.ring)
		if strings.Contains(tc.want, "not there") {
			ended()
		}
		begins := "warning  session amber: "
		if tc.remedy == "" {
			begins = "ok       session amber: "
		}
		if got := c.line(begins); !strings.Contains(got, tc.want) || !strings.Contains(got, tc.remedy) {
			t.Errorf("%s %+v: %s", tc.client, tc.ring, got)
		}
	}
}

func TestDoctorSaysNothingOfASessionThatWasRungJustNow(t *testing.T) {
	c := newClinic(t)
	if got := c.line("ok       rings"); !strings.Contains(got, "sessions: 0") {
		t.Error(got)
	}
	id, message := c.session("claude", "amber", os.Getpid())
	c.line("ok       rings") // mail that has just come
	c.rang(id, wake.Ring{At: time.Now(), Method: wake.BySocket, Outcome: wake.Rang, Oldest: message})
	c.line("ok       rings")
}

// Mail that has waited for long with nobody who rings, and a person at a shell, whom nobody is to
// ring.
func TestDoctorTellsOfMailThatNobodyHasRungFor(t *testing.T) {
	c := newClinic(t)
	past, err := broker.Open(broker.Config{Root: c.b.Root(), Now: func() time.Time { return time.Now().Add(-time.Hour) }})
	if err != nil {
		t.Fatal(err)
	}
	defer past.Close()
	c.b = past
	c.session("human", "coral", os.Getpid())
	id, _ := c.session("claude", "amber", os.Getpid())
	check := func(ringer string) {
		t.Helper()
		got := c.line("warning  session")
		for _, want := range []string{"session amber: mail waits since", "next tool call or prompt", ringer} {
			if !strings.Contains(got, want) {
				t.Errorf("no %q in %s", want, got)
			}
		}
	}
	check("c2c knows of nothing that rings it")
	if _, err := os.Stat(filepath.Join(c.b.Root(), id+".wake.lock")); err == nil {
		t.Error("doctor made a lock file")
	}
	release, _, err := c.b.Locks.BorrowRinging(id)
	if err != nil {
		t.Fatal(err)
	}
	check("; a process of c2c looks after it")
	if err := release(); err != nil {
		t.Error(err)
	}
	check("c2c knows of nothing that rings it")
}

func TestDoctorTellsOfAClientThatNobodyCanRing(t *testing.T) {
	c := newClinic(t)
	past, err := broker.Open(broker.Config{Root: c.b.Root(), Now: func() time.Time { return time.Now().Add(-time.Hour) }})
	if err != nil {
		t.Fatal(err)
	}
	defer past.Close()
	c.b = past
	c.session("gem", "amber", os.Getpid())
	if got := c.line("warning  session amber"); !strings.Contains(got, "nobody has rung") || !strings.Contains(got, `no way to wake a client "gem"`) {
		t.Error(got)
	}
}

// What doctor says of a session agrees with the list of its surfaces.
func TestDoctorTellsOfASessionThatOnlyATerminalRings(t *testing.T) {
	for _, client := range []string{"gemini", "kimi"} {
		c := newClinic(t)
		past, err := broker.Open(broker.Config{Root: c.b.Root(), Now: func() time.Time { return time.Now().Add(-time.Hour) }})
		if err != nil {
			t.Fatal(err)
		}
		defer past.Close()
		c.b = past
		id, _ := c.session(client, "amber", os.Getpid())
		c.rang(id, wake.Ring{At: time.Now().Add(-time.Hour), Method: wake.ByTerminal, Outcome: wake.Rang, Oldest: "m-before"}) // under c2c start, before
		release, err := c.b.Locks.Serve(id)
		if err != nil {
			t.Fatal(err)
		}
		defer release()
		got := c.line("warning  session amber: mail waits since")
		if want := "; c2c knows of nothing that rings it: its next turn brings the message; mail wakes it only if you end it and open it anew with c2c start --alias amber " + client + ", or run c2c wake attach in its tmux pane"; !strings.HasSuffix(got, want) {
			t.Errorf("no %q in %s", want, got)
		}
		if got := c.line("ok       mail of amber: "); !strings.Contains(got, "c2c knows of nothing that wakes it") {
			t.Error(got)
		}
		if err := c.b.Facts.Change(t.Context(), id, func(f *sessions.Facts) { f.RingerPID, f.RingerStart = f.PID, f.StartTime }); err != nil {
			t.Fatal(err)
		}
		if got := c.line("ok       mail of amber: "); !strings.Contains(got, "it wakes the session: c2c start rings it") {
			t.Error(got)
		}
	}
}

// The terminal of the client has ended with c2c start. That is told at once, also while no mail
// waits.
func TestDoctorTellsOfASessionWhoseRingerHasEnded(t *testing.T) {
	c := newClinic(t)
	amber, err := c.b.Register(t.Context(), callers.Caller{Client: "gemini", PID: os.Getpid()}, "amber")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.b.Facts.Change(t.Context(), amber.ID, func(f *sessions.Facts) { f.RingerPID, f.RingerStart = f.PID, f.StartTime-1 }); err != nil {
		t.Fatal(err)
	}
	const ended = "the process of c2c that rang it has ended, and c2c knows of no other"
	want := fmt.Sprintf("%s; its next prompt brings the mail; if no terminal shows it any more, end it (process %d) and open it anew with c2c start --alias amber gemini", ended, os.Getpid())
	for _, draft := range []bool{false, true} {
		if draft {
			c.rang(amber.ID, wake.Ring{At: time.Now(), Method: wake.ByTerminal, Outcome: wake.Uncaptured, Cause: "a draft stands in the prompt"})
		}
		if got := c.line("warning  session amber: "); !strings.HasSuffix(got, "amber: "+want) {
			t.Errorf("no %q in %s", want, got)
		}
		if got := c.line("ok       mail of amber: "); !strings.Contains(got, ended) {
			t.Error(got)
		}
	}
}

// A client may ask in its terminal whether its folder is trusted, before it runs anything of c2c.
// That is told at once.
func TestDoctorTellsOfAClientThatHasNotBegun(t *testing.T) {
	c := newClinic(t)
	if _, err := c.b.Register(t.Context(), callers.Caller{Start: "amber", Client: "copilot", PID: os.Getpid()}, "amber"); err != nil {
		t.Fatal(err)
	}
	c.line("ok       rings") // no mail waits for it
	if _, err := c.b.Send(t.Context(), sessions.Session{ID: "birch", Alias: "birch"}, mail.Message{To: "amber", Content: "hello"}); err != nil {
		t.Fatal(err)
	}
	if got, want := c.line("warning  session amber: mail waits since"), "; nothing of c2c has run in its client yet; a dialog may wait in its terminal, such as whether you trust the folder; or c2c is not set up in this client: c2c doctor tells"; !strings.HasSuffix(got, want) {
		t.Errorf("no %q in %s", want, got)
	}
}

func TestDoctorTellsOfDamagedFiles(t *testing.T) {
	c := newClinicAt(t, "[home")
	id, _ := c.session("claude", "amber", os.Getpid())
	for _, name := range []string{id + ".inbox.json.corrupt-1", "sessions/" + id + ".json.corrupt-2"} {
		path := filepath.Join(c.b.Root(), name)
		if err := os.WriteFile(path, []byte("["), 0o600); err != nil {
			t.Fatal(err)
		}
		if out := c.run("doctor", "--verbose"); !strings.Contains(out, "warning  damaged file: ") || !strings.Contains(out, path) {
			t.Errorf("no %s in\n%s", path, out)
		}
	}
}

func TestDoctorAnswersInJSONToo(t *testing.T) {
	c := newClinic(t)
	id, message := c.session("claude", "amber", os.Getpid())
	ring := wake.Ring{At: time.Now().UTC(), Method: wake.BySocket, Outcome: wake.Failed, Oldest: message, From: "birch", Count: 1, Cause: "gone"}
	c.rang(id, ring)
	var report []struct {
		format.Finding
		Ring *wake.Ring `json:"last_ring"`
	}
	out := c.run("doctor", "--json")
	if err := json.NewDecoder(strings.NewReader(out)).Decode(&report); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	for _, f := range report {
		if f.Session == "amber" && f.Status == "warning" && f.Ring != nil && *f.Ring == ring && strings.Contains(f.Detail, "gone") {
			return
		}
	}
	t.Errorf("no amber in %s", out)
}

func TestDoctorTellsWhetherPanesAreTypedInto(t *testing.T) {
	c := newClinic(t)
	if _, err := os.Stat(filepath.Join(c.b.Root(), "wake.lock")); err == nil {
		t.Error("doctor made a lock file")
	}
	id, _ := c.session("claude", "amber", os.Getpid())
	if err := c.b.SetPane(t.Context(), id, "tmux:%0:/tmp/x"); err != nil {
		t.Fatal(err)
	}
	if got := c.line("warning  wake daemon"); !strings.Contains(got, "for amber: c2c wake start") {
		t.Error(got)
	}
	lock, err := atomicfile.Acquire(t.Context(), c.b.Dir(), "wake.lock")
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()
	if out := c.run("doctor", "--verbose"); strings.Contains(out, "wake daemon") {
		t.Error(out)
	}
}

// An install of before c2c knew of FileChanged.
func TestDoctorTellsToInstallAgainWhenAHookIsMissing(t *testing.T) {
	c := newClinic(t)
	c.run("install", "claude")
	path := filepath.Join(c.home, ".claude", "settings.json")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, bytes.Replace(data, []byte(`"FileChanged"`), []byte(`"FileForgotten"`), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := c.line("warning  claude hook FileChanged"); !strings.Contains(got, "c2c install claude") {
		t.Error(got)
	}
}

func TestDoctorKeepsToAScreen(t *testing.T) {
	c := newClinic(t)
	for i := range 20 {
		id, message := c.session("claude", fmt.Sprintf("amber-%d", i), 1<<30+i)
		c.rang(id, wake.Ring{At: time.Now(), Method: wake.BySocket, Outcome: wake.Failed, Oldest: message})
	}
	c.run("install", "claude")
	c.run("install", "codex")
	out := c.run("doctor", "--verbose")
	if n := strings.Count(out, "\n"); n > 25 {
		t.Errorf("%d lines:\n%s", n, out)
	}
	for _, want := range []string{"claude hook SessionStart, UserPromptSubmit, PostToolUse, PreToolUse, Stop, StopFailure, FileChanged: ", "more sessions"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

func TestDoctorLetsNoAliasMakeALine(t *testing.T) {
	c := newClinic(t)
	registry := `[{"session_id":"amber","alias":"a\u001b]0;x\u0007\nok       forged","client_type":"claude","registered_at":1.0}]`
	for name, text := range map[string]string{"registry.json": registry, "amber.inbox.json": `[{"from_alias":"birch","to_alias":"amber","content":"x","ts":1.5,"message_id":"m"}]`} {
		if err := os.WriteFile(filepath.Join(c.b.Root(), name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out := c.run("doctor", "--verbose"); !strings.Contains(out, `ok       forged`) || strings.Contains(out, "\nok       forged") || strings.Contains(out, "\x1b") {
		t.Errorf("%s", out)
	}
}

func TestDoctorShowsWhatMovesAClientsConfiguration(t *testing.T) {
	c := newClinic(t)
	out := c.run("doctor", "--verbose")
	for _, p := range client.All() {
		for _, name := range []string{p.ConfigEnv, p.ConfigParentEnv} {
			if !strings.Contains(out, name) {
				t.Errorf("no %s in\n%s", name, out)
			}
		}
	}
}

func TestDoctorTellsInWhichSessionsTheModIsLoaded(t *testing.T) {
	c := newClinic(t)
	id, _ := c.session("claude", "amber", os.Getpid())
	if got := c.line("ok       claude mod: "); !strings.Contains(got, "not loaded in amber") {
		t.Error(got)
	}
	s, err := callers.Resolve(t.Context(), c.b.Registry, callers.Caller{Explicit: id})
	if err == nil {
		err = c.b.SetMod(t.Context(), s)
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := c.line("ok       claude mod: "); !strings.HasSuffix(got, ": loaded in amber") {
		t.Error(got)
	}
	// In another process of the client it may not be.
	other := exec.Command("cat")
	if _, err := other.StdinPipe(); err != nil { // it waits there
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { other.Process.Kill(); other.Wait() }()
	if _, err := c.b.Attach(t.Context(), callers.Caller{Client: "claude", ClientID: "of-amber", PID: other.Process.Pid}); err != nil {
		t.Fatal(err)
	}
	if got := c.line("ok       claude mod: "); !strings.Contains(got, "not loaded in amber") {
		t.Error(got)
	}
}

// A session that ended before its first turn has no conversation that could be opened again.
func TestDoctorSaysHowToOpenASessionThatHadNoTurn(t *testing.T) {
	c, process := newClinic(t), exec.Command("cat")
	if _, err := process.StdinPipe(); err != nil { // it waits there
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	id, _ := c.session("claude", "amber", process.Process.Pid)
	process.Process.Kill()
	process.Wait()
	if err := os.WriteFile(filepath.Join(c.b.Root(), id+".inbox.json"), []byte(`[{"from_al`), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := c.line("problem  mailbox of " + id); !strings.Contains(got, "open it anew with c2c start --alias amber claude") {
		t.Error(got)
	}
}

// What can be read of it comes when its session looks, as doctor says.
func TestDoctorTellsOfADamagedMailboxAndHowToMendIt(t *testing.T) {
	c := newClinic(t)
	id, _ := c.session("claude", "amber", 0)
	path := filepath.Join(c.b.Root(), id+".inbox.json")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(data, []byte(`{"from_al`)...), 0o600); err != nil {
		t.Fatal(err)
	}
	got := c.line("problem  mailbox of " + id)
	if !strings.Contains(got, "c2c send amber") || !strings.Contains(got, path) {
		t.Error(got)
	}
	box, err := c.b.Mailbox(id)
	if err != nil {
		t.Fatal(err)
	}
	lease, err := box.Lease(t.Context(), "test", 1<<20) // as it does then
	if err != nil || len(lease.Messages) != 1 {
		t.Fatalf("%v, %v", lease, err)
	}
	if err := lease.Ack(t.Context(), inbox.Handles(lease.Messages)...); err != nil {
		t.Fatal(err)
	}
	if out := c.run("doctor", "--verbose"); strings.Contains(out, "mailbox of") || !strings.Contains(out, "warning  damaged file") {
		t.Errorf("afterwards it says\n%s", out)
	}
}

// What stands in the place of a mailbox and is none stops the mail of its session alone, and has a
// cure.
func TestDoctorTellsOfWhatIsNoMailbox(t *testing.T) {
	c := newClinic(t)
	id, _ := c.session("claude", "amber", 0)
	path := filepath.Join(c.b.Root(), id+".inbox.json")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	out := c.run("doctor", "--verbose")
	if got := c.line("problem  mailbox of " + id); !strings.Contains(got, "until it is moved away") || !strings.Contains(got, path) || strings.Count(out, id+".inbox.json\":") > 1 {
		t.Error(out)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if out := c.run("doctor", "--verbose"); strings.Contains(out, "mailbox of") {
		t.Errorf("afterwards it says\n%s", out)
	}
}

func TestDoctorTellsOfARelativeRoot(t *testing.T) {
	s := shop{t: t, home: t.TempDir(), env: map[string]string{"C2C_MCP_BROKER_ROOT": "mail"}}
	code, out, _ := s.run("doctor", "--verbose")
	if code != 1 || !strings.Contains(out, `problem  root: C2C_MCP_BROKER_ROOT is "mail", so each directory has its own root: set it to an absolute path`) {
		t.Errorf("exit %d, %s", code, out)
	}
	s.env["C2C_MCP_BROKER_ROOT"] = filepath.Join(s.home, "mail")
	if _, out, _ := s.run("doctor", "--verbose"); strings.Contains(out, "problem  root") {
		t.Error(out)
	}
}

func TestDoctorTellsOfALimitThatIsNoNumber(t *testing.T) {
	s := shop{t: t, home: t.TempDir(), env: map[string]string{owed.HopsVariable: "many", "C2C_ROOM_WAKES": "few"}}
	_, out, _ := s.run("doctor", "--verbose")
	for _, want := range []string{`warning  C2C_STORM_HOPS: "many" from the environment is not a number`, `warning  C2C_ROOM_WAKES: "few" from the environment is not a number`} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

// writeFakeServer writes a program c2cd that only waits.
func writeFakeServer(t *testing.T, bin string) {
	t.Helper()
	cat, err := os.ReadFile("/bin/cat")
	if err != nil {
		t.Fatal(err)
	}
	syscall.ForkLock.RLock() // or a child of another test has it open to write
	defer syscall.ForkLock.RUnlock()
	os.Remove(filepath.Join(bin, "c2cd"))
	if err := os.WriteFile(filepath.Join(bin, "c2cd"), cat, 0o700); err != nil {
		t.Fatal(err)
	}
}

// startFakeServer starts "c2cd mcp" of writeFakeServer. This test is its parent, and so its client.
func startFakeServer(t *testing.T, home string) *exec.Cmd {
	t.Helper()
	if err := syscall.Mkfifo(filepath.Join(home, "mcp"), 0o600); err != nil {
		t.Fatal(err)
	}
	server := exec.Command(filepath.Join(home, "c2cd"), "mcp") // it waits for somebody to write there
	server.Dir, server.Env = home, []string{"HOME=" + home}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Process.Kill(); server.Wait() })
	// A process has no arguments yet in a moment of its start. Once it reads, it has them.
	writer, err := os.OpenFile(filepath.Join(home, "mcp"), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { writer.Close() })
	return server
}

// runIn runs a verb for the user of a home.
func runIn(t *testing.T, home string, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	a := &app{stdout: &out, stderr: &out, cwd: home, c2c: filepath.Join(home, "c2c"), getenv: func(name string) string { return map[string]string{"HOME": home}[name] }}
	a.main(t.Context(), args)
	return out.String()
}

// The program of a server that an update has replaced.
func TestDoctorTellsOfAServerOfAnotherVersion(t *testing.T) {
	if runtime.GOOS != "linux" {
		return // nothing tells there
	}
	bin := t.TempDir()
	writeFakeServer(t, bin)
	server := startFakeServer(t, bin)
	doctor := func() string { return runIn(t, bin, "doctor") }
	if out := doctor(); strings.Contains(out, "another version") {
		t.Errorf("it is the same program:\n%s", out)
	}
	writeFakeServer(t, bin)
	want := fmt.Sprintf("warning  process %d: c2c mcp runs another version of c2c than this one: close the session", server.Process.Pid)
	if out := doctor(); !strings.Contains(out, want) || !strings.Contains(out, fmt.Sprintf("(process %d, ", os.Getpid())) {
		t.Errorf("no %q in\n%s", want, out)
	}
	b, err := broker.OpenHere(func(name string) string { return map[string]string{"HOME": bin}[name] }, bin, broker.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if _, err := b.Register(t.Context(), callers.Caller{Explicit: "s-1", PID: os.Getpid(), Client: "gem"}, "amber"); err != nil {
		t.Fatal(err)
	}
	if out := doctor(); !strings.Contains(out, "than this one: close amber, and open it again (process ") {
		t.Errorf("its session is not named:\n%s", out)
	}
	server.Process.Kill()
	server.Wait()
	if out := doctor(); strings.Contains(out, "another version") {
		t.Errorf("it has ended:\n%s", out)
	}
}

// What is well is a number; --verbose tells it. What a client is not set up for that is not
// installed is no problem.
func TestDoctorShowsWhatIsWrongAndHowMuchIsWell(t *testing.T) {
	s := shop{t: t, home: t.TempDir(), env: map[string]string{}}
	s.program("claude")
	s.program("c2c")
	s.c2c = filepath.Join(s.home, "bin", "c2c")
	s.write(".gemini/settings.json", "{}")
	s.run("install")
	if code, out, _ := s.run("doctor"); code != 0 || strings.Contains(out, "gemini folder trust") { // Gemini CLI was never started here
		t.Errorf("exit %d, %s", code, out)
	}
	s.write(".gemini/trustedFolders.json", `{"/": "DO_NOT_TRUST"}`)
	if code, out, errs := s.run("doctor"); code != 0 || strings.Contains(out, "ok   ") || !strings.Contains(out, "warning  gemini folder trust: ") ||
		!regexp.MustCompile(`(?m)^[1-9][0-9]+ checks ok \(--verbose shows them\)\n\z`).MatchString(out) || errs != "" {
		t.Errorf("exit %d, %s%s", code, out, errs)
	}
	s.program("gemini") // it is installed now
	if code, out, _ := s.run("doctor"); code != 1 || !strings.Contains(out, "problem  gemini folder trust: ") {
		t.Errorf("exit %d, %s", code, out)
	}
	if _, out, _ := s.run("doctor", "--verbose"); !strings.Contains(out, "ok       version: ") || strings.Contains(out, "checks ok") {
		t.Errorf("--verbose: %s", out)
	}
}
