package broker_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"c2c/internal/atomicfile"
	"c2c/sessions"
	"c2c/sessions/callers"
)

func (w *world) wantResolve(want string, c callers.Caller) {
	w.t.Helper()
	s, err := callers.Resolve(context.Background(), w.Registry, c)
	if err != nil || s.ID != want {
		w.t.Errorf("resolve %+v: %q, %v; want %q", c, s.ID, err, want)
	}
}

func (w *world) wantNobody(cause error, c callers.Caller) {
	w.t.Helper()
	if s, err := callers.Resolve(context.Background(), w.Registry, c); !errors.Is(err, cause) {
		w.t.Errorf("resolve %+v: %q, %v; want %v", c, s.ID, err, cause)
	}
}

func TestResolveCreatesNothing(t *testing.T) {
	w := newWorld(t)
	for _, c := range []callers.Caller{{}, {Explicit: "x"}, {Client: "claude", ClientID: "u1"}, {Getenv: env("C2C_MCP_SESSION_ID", "s9")}} {
		w.wantNobody(sessions.ErrNoSession, c)
	}
	if list, err := w.Sessions(context.Background()); err != nil || len(list) != 0 {
		t.Errorf("sessions: %v, %v", list, err)
	}
}

func TestClearKeepsTheMailbox(t *testing.T) {
	w := newWorld(t)
	s := w.attach(callers.Caller{Client: "claude", ClientID: "u1", PID: w.pid(10)})
	// The hook after /clear says a new id; the MCP server's environment still has the old one.
	if got := w.attach(callers.Caller{Client: "claude", ClientID: "u2", PID: w.pid(10)}); got.ID != s.ID {
		t.Errorf("after /clear: %s, want %s", got.ID, s.ID)
	}
	w.wantResolve(s.ID, callers.Caller{Client: "claude", PID: w.pid(10), Getenv: env("CLAUDE_CODE_SESSION_ID", "u1")})
	w.wantResolve(s.ID, callers.Caller{Client: "claude", ClientID: "u2"})
}

// The window that has the mailbox goes on in another conversation.
func TestAConversationThatWasLeftAndIsOpenedElsewhereHasItsOwnMailbox(t *testing.T) {
	w := newWorld(t)
	first := w.register("amber", callers.Caller{Client: "claude", ClientID: "u1", PID: w.pid(10)})
	w.attach(callers.Caller{Client: "claude", ClientID: "u2", PID: w.pid(10)}) // /clear
	server := callers.Caller{Client: "claude", PID: w.pid(20), Getenv: env("CLAUDE_CODE_SESSION_ID", "u1")}
	w.wantNobody(sessions.ErrNoSession, server)
	second := w.attach(callers.Caller{Client: "claude", ClientID: "u1", PID: w.pid(20), Getenv: server.Getenv})
	if second.ID == first.ID {
		t.Fatal("two windows have one mailbox")
	}
	w.wantResolve(second.ID, server)
	w.wantResolve(first.ID, callers.Caller{Client: "claude", ClientID: "u2", PID: w.pid(10)})
	w.wantResolve(first.ID, callers.Caller{Client: "claude", PID: w.pid(10), Getenv: server.Getenv})
	w.ends(10)
	w.wantResolve(first.ID, callers.Caller{Client: "claude", ClientID: "u2", PID: w.pid(30)})
}

func TestResumeBringsMailboxAndAliasBack(t *testing.T) {
	w := newWorld(t)
	first := w.register("amber", callers.Caller{Client: "claude", ClientID: "u1", PID: w.pid(10)})
	w.ends(10)
	second := w.attach(callers.Caller{Client: "claude", ClientID: "u2", PID: w.pid(20)})
	if second.ID == first.ID {
		t.Fatal("another process with another id got the mailbox")
	}
	// /resume u1 inside the second process: its server's environment goes on naming u2.
	back := w.attach(callers.Caller{Client: "claude", ClientID: "u1", PID: w.pid(20)})
	if back.ID != first.ID || back.Alias != "amber" || back.State != sessions.Alive {
		t.Errorf("resumed: %+v, want %s as amber", back, first.ID)
	}
	w.wantResolve(first.ID, callers.Caller{Client: "claude", PID: w.pid(20), Getenv: env("CLAUDE_CODE_SESSION_ID", "u2")})
	list, _ := w.Sessions(context.Background())
	for _, s := range list {
		if s.ID == second.ID && s.State != sessions.Absent {
			t.Errorf("the session that was left is %s", s.State)
		}
	}
}

func TestCodexThreadsOfOneDaemonAreApart(t *testing.T) {
	w := newWorld(t)
	one := w.attach(callers.Caller{Client: "codex", ClientID: "t1", PID: w.pid(10)})
	two := w.attach(callers.Caller{Client: "codex", ClientID: "t2", PID: w.pid(10)})
	if one.ID == two.ID {
		t.Fatal("two threads share a mailbox")
	}
	w.wantResolve(one.ID, callers.Caller{Client: "codex", ClientID: "t1", PID: w.pid(10)})
	w.wantNobody(sessions.ErrAmbiguous, callers.Caller{Client: "codex", PID: w.pid(10)})
	w.wantNobody(sessions.ErrNoSession, callers.Caller{Client: "codex", Getenv: env("CODEX_THREAD_ID", "t1")})
	w.wantResolve(one.ID, callers.Caller{Getenv: env("CODEX_THREAD_ID", "t1")}) // a shell
}

// A client in the shell of another one has the variables of both.
func TestTwoClientsInOneEnvironmentAreNotTakenForEachOther(t *testing.T) {
	w := newWorld(t)
	claude := w.attach(callers.Caller{Client: "claude", ClientID: "u1", PID: w.pid(10)})
	codex := w.attach(callers.Caller{Client: "codex", ClientID: "t1"})
	both := env("CLAUDE_CODE_SESSION_ID", "u1", "CODEX_THREAD_ID", "t1")
	w.wantNobody(sessions.ErrNoSession, callers.Caller{Getenv: both})
	w.wantResolve(claude.ID, callers.Caller{Client: "claude", Getenv: both, PID: w.pid(10)})
	w.wantResolve(codex.ID, callers.Caller{Client: "codex", ClientID: "t1", Getenv: both})
}

func TestOrderOfEvidence(t *testing.T) {
	w := newWorld(t)
	a := w.attach(callers.Caller{Client: "claude", ClientID: "a", PID: w.pid(10)})
	b := w.attach(callers.Caller{Client: "claude", ClientID: "b", PID: w.pid(20)})
	c := w.attach(callers.Caller{Client: "claude", ClientID: "c", PID: w.pid(30)})
	both := env("C2C_MCP_SESSION_ID", b.ID, "CLAUDE_CODE_SESSION_ID", "c")
	w.wantResolve(c.ID, callers.Caller{Explicit: c.Alias, Client: "claude", ClientID: "a", Getenv: both})
	w.wantResolve(a.ID, callers.Caller{Client: "claude", ClientID: "a", Getenv: both})
	w.wantResolve(b.ID, callers.Caller{Getenv: both})
	w.wantResolve(c.ID, callers.Caller{Getenv: env("CLAUDE_CODE_SESSION_ID", "c")})
	w.wantNobody(sessions.ErrNoSession, callers.Caller{Client: "codex", Getenv: env("CLAUDE_CODE_SESSION_ID", "c")})
}

func TestPlainShellFindsItsNearestAncestor(t *testing.T) {
	w := newWorld(t)
	s := w.attach(callers.Caller{Client: "codex", ClientID: "t1", PID: w.pid(90)})
	claude := w.attach(callers.Caller{Client: "claude", ClientID: "u1", PID: w.pid(10)})
	w.wantResolve(s.ID, callers.Caller{})
	// Codex was started in Claude's shell, whose variable goes down to Codex's children.
	w.wantResolve(s.ID, callers.Caller{Getenv: env("CLAUDE_CODE_SESSION_ID", "u1")})
	w.writeRegistry(strings.Replace(w.file(registryFile), w.process(90), w.process(90)+"1", 1)) // another start: another process by now
	w.wantNobody(sessions.ErrNoSession, callers.Caller{})
	w.wantResolve(claude.ID, callers.Caller{Getenv: env("CLAUDE_CODE_SESSION_ID", "u1")})
}

func TestNamedSessionIsMadeUnderItsName(t *testing.T) {
	w := newWorld(t)
	if s := w.attach(callers.Caller{Getenv: env("C2C_MCP_SESSION_ID", "my-session")}); s.ID != "my-session" {
		t.Errorf("session %q", s.ID)
	}
	if _, err := w.Attach(context.Background(), callers.Caller{Explicit: "../x"}); err == nil {
		t.Error("a path was taken for a session id")
	}
}

// A hook and a tool must not wait for whoever writes the registry, when they have nothing to write.
func TestWhoIsKnownAttachesWithoutTheLock(t *testing.T) {
	w := newWorld(t)
	named := callers.Caller{Client: "claude", PID: w.pid(20), Getenv: env("C2C_MCP_SESSION_ID", "my-session")}
	hook := callers.Caller{Client: "claude", ClientID: "a", PID: w.pid(10)}
	want := map[string]callers.Caller{w.attach(named).ID: named, w.attach(hook).ID: hook}
	lock, err := atomicfile.Acquire(context.Background(), w.Dir(), sessions.RegistryLock)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for sid, c := range want {
		if s, err := w.Attach(ctx, c); err != nil || s.ID != sid {
			t.Errorf("attached as %q, %v, want %q", s.ID, err, sid)
		}
	}
	if _, err := w.Attach(ctx, callers.Caller{Client: "claude", ClientID: "b", PID: w.pid(10)}); !errors.Is(err, atomicfile.ErrLockTimeout) {
		t.Errorf("a new id: %v", err)
	}
}

// Most file systems of macOS ignore case: there the two would have one mailbox.
func TestNoTwoSessionsHaveIDsThatDifferByTheCase(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	w.register("birch", callers.Caller{Explicit: "amber"})
	if s, err := w.Register(ctx, callers.Caller{Explicit: "Amber"}, "cedar"); err == nil || !strings.Contains(err.Error(), `another session has the id "amber"`) {
		t.Errorf("registered as %+v, %v", s, err)
	}
	s, err := w.Register(ctx, callers.Caller{Start: "Amber", PID: w.pid(10)}, "Amber")
	if err != nil || strings.EqualFold(s.ID, "amber") || s.Alias != "Amber" {
		t.Errorf("started as %+v, %v", s, err)
	}
}

// c2c start names a session that was swept: what is lost is only another alias that it had.
func TestDamagedFactsStopNoStart(t *testing.T) {
	w := newWorld(t)
	if err := os.MkdirAll(filepath.Join(w.Root(), "sessions", "birch.json"), 0o700); err != nil {
		t.Fatal(err)
	}
	if s, err := w.Attach(context.Background(), callers.Caller{Start: "birch", PID: w.pid(10)}); err != nil || s.ID != "birch" {
		t.Errorf("attached as %+v, %v", s, err)
	}
}

func TestWhatIsNoFileOfFactsIsSetAside(t *testing.T) {
	things := map[string]func(path string) error{
		"directory": func(path string) error { return os.MkdirAll(filepath.Join(path, "x"), 0o700) },
		"FIFO":      func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"link":      func(path string) error { return os.Symlink("/etc/passwd", path) },
		"hole":      func(path string) error { return errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, 1<<40)) },
		"foreign": func(path string) error {
			if os.Geteuid() != 0 {
				return os.WriteFile(path, nil, 0) // cannot be read either
			}
			return errors.Join(os.WriteFile(path, []byte("{}"), 0o600), os.Chown(path, 1, 1))
		},
	}
	for name, plant := range things {
		w := newWorld(t)
		caller := callers.Caller{Client: "claude", ClientID: "a", PID: w.pid(10)}
		s := w.attach(caller)
		path := filepath.Join(w.Root(), "sessions", s.ID+".json")
		for n := 1; n <= 2; n++ {
			if err := errors.Join(os.Remove(path), plant(path)); err != nil {
				t.Fatal(err)
			}
			log := w.logged()
			again, err := w.Attach(context.Background(), caller)
			if err != nil || again.ID != s.ID || len(again.ClientIDs) != 1 {
				t.Errorf("%s: attached as %+v, %v", name, again, err)
			}
			kept, err := filepath.Glob(path + ".corrupt-*")
			if err != nil || len(kept) != n || !strings.Contains(log.String(), filepath.Base(kept[n-1])) {
				t.Errorf("%s: kept %q, %v, log %s", name, kept, err, log)
			}
			w.clock = w.clock.Add(time.Microsecond)
		}
	}
}

func TestHiddenClientProcessMakesTheStateUnknown(t *testing.T) {
	w := newWorld(t)
	if s := w.attach(callers.Caller{Client: "codex", ClientID: "t", PID: w.pid(12345)}); s.State != sessions.Unknown {
		t.Errorf("state %s", s.State)
	}
}

// An agent that registers another session in its shell stays who it is.
func TestANameThatWasTypedTakesNoClientsID(t *testing.T) {
	w := newWorld(t)
	env := func(name string) string {
		return map[string]string{"CLAUDE_CODE_SESSION_ID": "uuid-1"}[name]
	}
	w.register("worker", callers.Caller{Explicit: "worker", Getenv: env})
	own := w.attach(callers.Caller{Client: "claude", ClientID: "uuid-1", Getenv: env})
	if own.ID == "worker" || own.Alias == "worker" {
		t.Errorf("the session is now %+v", own)
	}
}

func TestAClientThatNobodyKnowsIsItsProcess(t *testing.T) {
	w := newWorld(t)
	outer := w.attach(callers.Caller{Client: "claude", ClientID: "u1", PID: w.pid(30)})
	inherited := env("CLAUDE_CODE_SESSION_ID", "u1")
	gem := callers.Caller{Client: "gem", PID: w.pid(10), Getenv: inherited}
	one, two := w.attach(gem), w.attach(callers.Caller{Client: "gem", PID: w.pid(20), Getenv: inherited})
	if one.ID == two.ID || one.ID == outer.ID || two.ID == outer.ID {
		t.Fatalf("sessions %s, %s inside %s", one.ID, two.ID, outer.ID)
	}
	w.wantResolve(one.ID, gem)
	w.starts(10) // another process by now
	w.wantNobody(sessions.ErrNoSession, gem)

	hidden := callers.Caller{Client: "gem", PID: w.pid(12345), Getenv: inherited}
	hidden.Last = w.attach(hidden).ID
	w.wantResolve(hidden.Last, hidden)
}

func TestAnotherWordForAClientIsTheSameClient(t *testing.T) {
	w := newWorld(t)
	w.writeRegistry(`[{"session_id":"s1","alias":"amber","client_type":"claude-code"}]`)
	if s, err := callers.Resolve(t.Context(), w.Registry, callers.Caller{Explicit: "s1"}); err != nil || s.Client != "claude" {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestTheOriginalsAliasIsTriedOnce(t *testing.T) {
	w := newWorld(t)
	auto := func(pid int) callers.Caller { return callers.Caller{Client: "gem", PID: w.pid(pid), Alias: "amber"} }
	one := w.attach(auto(10))
	if one.Alias != "amber" {
		t.Errorf("the first is %q", one.Alias)
	}
	if two := w.attach(auto(20)); two.Alias == "amber" || two.ID == one.ID {
		t.Errorf("the second is %+v", two)
	}
	if list, err := w.Sessions(t.Context()); err != nil || len(list) != 2 || list[0].ID != one.ID {
		t.Errorf("registered are %+v, %v", list, err)
	}
	// The hook of another client, which has a made up name, and then its server.
	w.starts(40)
	three := w.attach(callers.Caller{Client: "claude", ClientID: "u0", PID: w.pid(40)})
	if s := w.attach(auto(40)); s.ID != three.ID || s.Alias != three.Alias {
		t.Errorf("the third is %+v, want %+v", s, three)
	}
	// Who asks for a taken name in so many words is told that it is taken.
	if s, err := w.Register(t.Context(), auto(20), "amber"); !errors.As(err, new(*sessions.AliasTakenError)) {
		t.Errorf("registered as %+v, %v", s, err)
	}
	w.register("birch", auto(10))
	if again := w.attach(auto(10)); again.Alias != "birch" {
		t.Errorf("who was named is %q", again.Alias)
	}
	// The hook of a client may come before its server.
	w.attach(callers.Caller{Client: "claude", ClientID: "u1", PID: w.pid(30)})
	if s := w.attach(auto(30)); s.Alias != "amber" {
		t.Errorf("who had a name made up is %q", s.Alias)
	}
}

// Whoever made a project could have written any name into its file.
func TestAProposedAliasTakesNothingFromAnAbsentSession(t *testing.T) {
	w := newWorld(t)
	gone := w.attach(callers.Caller{Client: "gem", PID: w.pid(10), Alias: "amber"})
	w.ends(10)
	proposed := callers.Caller{Client: "gem", PID: w.pid(20), Alias: "amber", Proposed: true}
	if s := w.attach(proposed); s.Alias == "amber" {
		t.Errorf("it took the alias: %+v", s)
	}
	if s, err := callers.Resolve(t.Context(), w.Registry, callers.Caller{Explicit: gone.ID}); err != nil || s.Alias != "amber" || s.State != sessions.Absent {
		t.Errorf("the absent session is %+v, %v", s, err)
	}
	// Nor what was sent to it, once it is swept.
	dead := `{"deleted_at":1.5,"from_session_id":"gone","message":{"from_alias":"birch","to_alias":"dune","content":"for dune","ts":1.5,"message_id":"m"}}` + "\n"
	if err := w.Dir().Write(deadFile, []byte(dead)); err != nil {
		t.Fatal(err)
	}
	proposed.PID, proposed.Alias = w.pid(30), "dune"
	s := w.attach(proposed)
	if s.Alias != "dune" {
		t.Fatalf("a free name was not taken: %+v", s)
	}
	w.wantMail(s.ID)
	w.wantDead("for dune")
	w.register("dune", callers.Caller{Client: "gem", PID: w.pid(30)}) // its model chooses the name
	w.wantMail(s.ID, "for dune")
	w.starts(50)
	if s := w.attach(callers.Caller{Client: "gem", PID: w.pid(50), Alias: "coral", Proposed: true}); s.Alias != "coral" {
		t.Errorf("of a free name it got %+v", s)
	}
}

func TestNobodyWithoutAnyMarkGetsASession(t *testing.T) {
	w := newWorld(t)
	if s, err := w.Register(t.Context(), callers.Caller{}, "amber"); !errors.Is(err, sessions.ErrNoSession) {
		t.Errorf("registered as %+v, %v", s, err)
	}
}

// The name of the new content of a file may not be that of another client's id.
func TestAnIDThatIsTheNameOfNewContentIsRefused(t *testing.T) {
	w := newWorld(t)
	if s, err := w.Attach(t.Context(), callers.Caller{Client: "claude", ClientID: "u1.tmp.c2c", PID: w.pid(10)}); err == nil {
		t.Errorf("attached as %s, whose id the next session u1 overwrites", s.ID)
	}
	if other := w.attach(callers.Caller{Client: "claude", ClientID: "u1", PID: w.pid(20)}); other.ID != w.attach(callers.Caller{Client: "claude", ClientID: "u1"}).ID {
		t.Error("u1 is not found again")
	}
}

// The process that started a server may end before it. Another one may have its id by then, and is
// not rung.
func TestASessionLivesAsLongAsItsServer(t *testing.T) {
	w := newWorld(t)
	s := w.register("amber", callers.Caller{Explicit: "amber", PID: w.pid(20)})
	leave, err := w.Locks.Serve(s.ID)
	if err != nil {
		t.Fatal(err)
	}
	want := func(when string, state sessions.State) {
		t.Helper()
		list, err := w.Sessions(t.Context())
		if err != nil || len(list) != 1 || list[0].State != state || list[0].Process != 0 {
			t.Errorf("%s: listed as %+v, %v, want it %s and without a process", when, list, err, state)
		}
		if s, err := callers.Resolve(t.Context(), w.Registry, callers.Caller{Explicit: "amber"}); err != nil || s.State != state || s.Process != 0 {
			t.Errorf("%s: %+v, %v, want it %s and without a process", when, s, err, state)
		}
	}
	w.ends(20)
	want("without its process", sessions.Alive)
	w.starts(20)
	want("with another process of that id", sessions.Alive)
	if err := leave(); err != nil {
		t.Fatal(err)
	}
	want("without its server", sessions.Absent)
}

func TestAShellOfAClientWithSeveralSessionsIsThatOfItsOwn(t *testing.T) {
	w := newTableWorld(t)
	w.table[90] = sessions.Process{PID: 90, Parent: 10, Start: 6}
	w.table[10] = sessions.Process{PID: 10, Parent: 20, Start: 1}
	w.attach(callers.Caller{Client: "claude", ClientID: "u1", PID: w.pid(20)}) // in whose shell it runs
	for _, id := range []string{"o1", "o2"} {
		w.attach(callers.Caller{Client: "opencode", ClientID: id, PID: w.pid(10)})
	}
	for _, id := range []string{"o1", "o2"} {
		s := w.attach(callers.Caller{Client: "opencode", ClientID: id, PID: w.pid(10)})
		w.wantResolve(s.ID, callers.Caller{Getenv: env("C2C_OPENCODE_SESSION_ID", id, "CLAUDE_CODE_SESSION_ID", "u1")})
	}
	w.wantNobody(sessions.ErrAmbiguous, callers.Caller{Getenv: env("C2C_OPENCODE_SESSION_ID", "o3")})
}

func TestDamagedFactsAreSetAside(t *testing.T) {
	w := newWorld(t)
	s := w.attach(callers.Caller{Client: "claude", ClientID: "a", PID: w.pid(10)})
	if err := os.WriteFile(filepath.Join(w.Root(), "sessions", s.ID+".json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.wantResolve(s.ID, callers.Caller{Client: "claude", ClientID: "a"})
	if again := w.attach(callers.Caller{Client: "claude", ClientID: "a", PID: w.pid(10)}); again.ID != s.ID || len(again.ClientIDs) != 1 {
		t.Errorf("attached as %+v", again)
	}
}

// elsewhere is the same process table as another PID namespace sees it.
type elsewhere struct{ sessions.ProcessTable }

func (elsewhere) Namespace() string { return "pid:[2]" }

// Two containers share a root, and their clients have the same process id and start time.
func TestAProcessOfAnotherNamespaceIsNobodyWeKnow(t *testing.T) {
	w := newTableWorld(t)
	s := w.register("amber", callers.Caller{Client: "claude", ClientID: "u1", PID: w.pid(10)})
	if s.State != sessions.Alive || s.Process != w.pid(10) {
		t.Errorf("at home: %+v", s)
	}
	for _, pid := range []int{10, 20} { // seen there as the same number, and not seen at all
		if pid == 20 {
			w.ends(10)
		}
		w.Processes = elsewhere{w.table}
		s, err := callers.Resolve(t.Context(), w.Registry, callers.Caller{Explicit: s.ID})
		if err != nil || s.State != sessions.Unknown || s.Process != 0 {
			t.Errorf("from elsewhere: %+v, %v", s, err)
		}
		w.wantNobody(sessions.ErrNoSession, callers.Caller{Client: "claude", PID: w.pid(10)})
		var taken *sessions.AliasTakenError
		if _, err := w.Register(t.Context(), callers.Caller{Client: "claude", ClientID: "u2", PID: w.pid(20)}, "amber"); !errors.As(err, &taken) {
			t.Errorf("from elsewhere, its alias: %v", err)
		}
	}
	back := w.attach(callers.Caller{Client: "claude", ClientID: "u1", PID: w.pid(20)})
	if back.ID != s.ID || back.State != sessions.Alive || back.Process != w.pid(20) {
		t.Errorf("resumed elsewhere: %+v", back)
	}
	w.Processes = w.table
	w.starts(20)
	if s, err := callers.Resolve(t.Context(), w.Registry, callers.Caller{Explicit: s.ID}); err != nil || s.State != sessions.Unknown || s.Process != 0 {
		t.Errorf("from the first one: %+v, %v", s, err)
	}
}

// All that a client runs has the variable with which c2c start started it, also a client in its
// shell.
func TestAClientInAnothersShellIsNotThatSession(t *testing.T) {
	w := newTableWorld(t)
	w.table[11] = sessions.Process{PID: 11, Parent: 10, Start: 11} // a shell of the outer client
	w.table[12] = sessions.Process{PID: 12, Parent: 11, Start: 12}
	outer := w.register("amber", callers.Caller{Start: "amber", Client: "claude", PID: w.pid(10)})
	inherited := env("C2C_MCP_SESSION_ID", outer.ID)
	for _, name := range []string{"gemini", "kimi", "copilot", "gem"} { // also before the outer one has named its session
		w.wantNobody(sessions.ErrNoSession, callers.Caller{Client: name, ClientID: "x", PID: w.pid(12), Getenv: inherited})
		w.wantNobody(sessions.ErrNoSession, callers.Caller{Client: name, PID: w.pid(12), Getenv: inherited})
	}
	own := callers.Caller{Client: "claude", ClientID: "u1", PID: w.pid(10), Getenv: inherited}
	if got := w.attach(own); got.ID != outer.ID {
		t.Fatalf("the outer client got %s, want %s", got.ID, outer.ID)
	}
	own.ClientID = "u2" // after /clear
	w.wantResolve(outer.ID, own)
	inner := w.attach(callers.Caller{Client: "claude", ClientID: "u3", PID: w.pid(12), Getenv: inherited})
	if inner.ID == outer.ID {
		t.Fatal("a client in the shell of another got its mailbox")
	}
	w.wantResolve(inner.ID, callers.Caller{Client: "claude", PID: w.pid(12), Getenv: inherited}) // its server
	w.wantResolve(outer.ID, callers.Caller{Client: "claude", PID: w.pid(10), Getenv: inherited})

	w.table[90] = sessions.Process{PID: 90, Parent: 12, Start: 6} // above our own process
	w.wantResolve(inner.ID, callers.Caller{Client: "claude", ClientID: "u3", Getenv: inherited})
	nested := w.attach(callers.Caller{Client: "kimi", ClientID: "k1", PID: w.pid(90), Getenv: inherited})
	w.wantResolve(nested.ID, callers.Caller{Getenv: inherited}) // a command in its shell

	// A client in tmux has lost its parents, and may outlive the one that started it.
	w.table[90] = sessions.Process{PID: 90, Parent: 20, Start: 8}
	apart := w.attach(callers.Caller{Client: "claude", ClientID: "u4", PID: w.pid(20), Getenv: inherited})
	if apart.ID == outer.ID {
		t.Fatal("a client in a terminal that another one has started got its mailbox")
	}
	for range 2 {
		w.wantResolve(apart.ID, callers.Caller{Client: "claude", PID: w.pid(20), Getenv: inherited})
		w.wantResolve(apart.ID, callers.Caller{Getenv: inherited})
		w.ends(10)
	}
	w.starts(10)

	w.Processes = elsewhere{w.table}
	w.wantNobody(sessions.ErrNoSession, callers.Caller{Client: "gemini", ClientID: "g1", PID: w.pid(12), Getenv: inherited})
	w.Processes = w.table
	w.ends(10) // its client has ended: another one may take the session
	w.wantResolve(outer.ID, callers.Caller{Client: "gemini", ClientID: "g1", PID: w.pid(30), Getenv: inherited})
}

// Codex tells its hooks no process. Its shells have the outer client's process above them, and both
// variables.
func TestAShellOfACodexInTheShellOfClaudeIsThatOfCodex(t *testing.T) {
	for _, start := range []string{"", "amber"} {
		w := newTableWorld(t)
		w.table[90] = sessions.Process{PID: 90, Parent: 10, Start: 6}
		w.Processes = inner{w.table}
		outer := w.attach(callers.Caller{Start: start, Client: "claude", PID: w.pid(10)})
		w.attach(callers.Caller{Client: "claude", ClientID: "u1", PID: w.pid(10)})
		variables := []string{"CLAUDE_CODE_SESSION_ID", "u1"}
		if start != "" {
			variables = append(variables, "C2C_MCP_SESSION_ID", outer.ID)
		}
		around, within := w.attach(callers.Caller{Client: "codex", ClientID: "t0"}), w.attach(callers.Caller{Client: "codex", ClientID: "t1"})
		w.wantResolve(within.ID, callers.Caller{Getenv: env(append(variables, "CODEX_THREAD_ID", "t1")...)})
		w.wantResolve(outer.ID, callers.Caller{Getenv: env(append(variables, "CODEX_THREAD_ID", "t0")...)})
		if around.ID == within.ID {
			t.Error("two threads are one session")
		}
	}
}

// inner are processes that were started in the shell of a Codex.
type inner struct{ sessions.ProcessTable }

func (inner) Environ(int) []string { return []string{"CODEX_THREAD_ID=t0"} }

// Its hooks say which one it has now. Its server and its shells must not go on as the one that it
// was started as.
func TestAClientThatResumesAnotherSessionIsThatOne(t *testing.T) {
	for _, atOnce := range []bool{true, false} {
		w := newTableWorld(t)
		old := w.attach(callers.Caller{Client: "claude", ClientID: "u1", PID: w.pid(20)})
		w.ends(20)
		w.table[90] = sessions.Process{PID: 90, Parent: 10, Start: 6} // a command in its shell
		amber := w.register("amber", callers.Caller{Start: "amber", Client: "claude", PID: w.pid(10)})
		started := env("C2C_MCP_SESSION_ID", amber.ID)
		own := callers.Caller{Client: "claude", PID: w.pid(10), Getenv: started}
		w.wantResolve(amber.ID, own)
		if !atOnce {
			w.attach(callers.Caller{Client: "claude", ClientID: "u2", PID: w.pid(10), Getenv: started})
			w.wantResolve(amber.ID, own)
		}
		if got := w.attach(callers.Caller{Client: "claude", ClientID: "u1", PID: w.pid(10), Getenv: started}); got.ID != old.ID {
			t.Fatalf("the resumed session is %s, want %s", got.ID, old.ID)
		}
		w.wantResolve(old.ID, own)
		w.wantResolve(old.ID, callers.Caller{Getenv: started})
		if !atOnce {
			w.attach(callers.Caller{Client: "claude", ClientID: "u2", PID: w.pid(10), Getenv: started}) // and back
			w.wantResolve(amber.ID, own)
			w.wantResolve(amber.ID, callers.Caller{Getenv: started})
		}
	}
}

// One process may run two sessions, and give each a server with its id. What the process was
// started with is another thing: its servers have that too, whichever session they are of.
func TestAServerIsOfTheSessionThatItsClientGaveIt(t *testing.T) {
	w := newTableWorld(t)
	had := &startedAs{ProcessTable: w.table}
	w.Processes = had
	one, two := env("C2C_MCP_SESSION_ID", "one"), env("C2C_MCP_SESSION_ID", "two")
	had.as = []string{"HOME=/"}
	w.attach(callers.Caller{Client: "claude", ClientID: "u1", PID: w.pid(10), Getenv: one})
	w.attach(callers.Caller{Client: "claude", ClientID: "u2", PID: w.pid(10), Getenv: two})
	for range 2 {
		w.wantResolve("one", callers.Caller{Client: "claude", PID: w.pid(10), Getenv: one})
		w.wantResolve("two", callers.Caller{Client: "claude", PID: w.pid(10), Getenv: two})
		for sid, vars := range map[string]func(string) string{"one": one, "two": two} {
			if s := w.attach(callers.Caller{Client: "claude", PID: w.pid(10), Getenv: vars}); s.ID != sid {
				t.Errorf("the server of %s attached %s", sid, s.ID)
			}
		}
	}
	w.attach(callers.Caller{Client: "claude", ClientID: "u2", PID: w.pid(10)})
	had.as = []string{"HOME=/", "C2C_MCP_SESSION_ID=one"} // the client was started as one, and has resumed two
	w.wantResolve("two", callers.Caller{Client: "claude", PID: w.pid(10), Getenv: one})
	had.as = nil // it cannot be seen
	w.wantResolve("two", callers.Caller{Client: "claude", PID: w.pid(10), Getenv: one})
	had.as = []string{"HOME=/"}
	w.starts(10) // another process, which one never had
	w.attach(callers.Caller{Client: "claude", ClientID: "u2", PID: w.pid(10)})
	w.wantResolve("two", callers.Caller{Client: "claude", PID: w.pid(10), Getenv: one})
}

// startedAs are processes that were all started with one environment.
type startedAs struct {
	sessions.ProcessTable
	as []string
}

func (s *startedAs) Environ(int) []string { return s.as }

// A wire daemon hands its session on in the same way. The agent itself need not call anything of
// c2c, so the first caller is not the agent. The agent is the process that the daemon has started.
func TestAClientInTheShellOfAWireAgentIsNotThatSession(t *testing.T) {
	w := newTableWorld(t)
	w.table[11] = sessions.Process{PID: 11, Parent: 10, Start: 11} // the agent
	w.table[12] = sessions.Process{PID: 12, Parent: 11, Start: 12} // a client that its shell has become
	outer := w.register("amber", callers.Caller{Start: "amber", Client: callers.ClientWire, PID: w.pid(10)})
	inherited := env("C2C_MCP_SESSION_ID", outer.ID)
	wantNobody := func() {
		t.Helper()
		for _, name := range []string{"claude", "gemini", "kimi", "mcp"} {
			w.wantNobody(sessions.ErrNoSession, callers.Caller{Client: name, ClientID: "x", PID: w.pid(12), Getenv: inherited})
			w.wantNobody(sessions.ErrNoSession, callers.Caller{Client: name, PID: w.pid(12), Getenv: inherited})
		}
	}
	wantNobody()
	agent := callers.Caller{Client: "mcp", PID: w.pid(11), Getenv: inherited}
	for _, agent.Client = range []string{"mcp", "kimi"} { // C2C_MCP_CLIENT_TYPE may say so
		if got := w.attach(agent); got.ID != outer.ID || got.Process != w.pid(10) || got.Client != callers.ClientWire {
			t.Fatalf("the agent as %s got %+v, want %s", agent.Client, got, outer.ID)
		}
	}
	wantNobody()

	w.table[90] = sessions.Process{PID: 90, Parent: 11, Start: 6} // above our own process
	w.wantResolve(outer.ID, callers.Caller{Getenv: inherited})    // a command in the agent's shell
	w.table[90] = sessions.Process{PID: 90, Parent: 12, Start: 6}
	w.wantNobody(sessions.ErrNoSession, callers.Caller{Client: "copilot", ClientID: "c1", Getenv: inherited}) // its hook does not tell its process
	nested := w.attach(callers.Caller{Client: "claude", ClientID: "u1", PID: w.pid(12), Getenv: inherited})
	w.wantResolve(nested.ID, callers.Caller{Getenv: inherited}) // a command in the shell of that one

	w.ends(11)   // the daemon starts another agent
	w.starts(14) // what the first one had started runs on
	w.wantNobody(sessions.ErrNoSession, callers.Caller{Client: "mcp", PID: w.pid(14), Getenv: inherited})
	w.table[13] = sessions.Process{PID: 13, Parent: 10, Start: 13}
	w.wantResolve(outer.ID, callers.Caller{Client: "mcp", PID: w.pid(13), Getenv: inherited})

	serves, err := w.Locks.Serve(outer.ID) // the daemon, seen from another PID namespace
	if err != nil {
		t.Fatal(err)
	}
	defer serves()
	w.Processes = elsewhere{w.table}
	w.wantNobody(sessions.ErrNoSession, callers.Caller{Client: "gemini", PID: w.pid(14), Getenv: inherited})
	w.wantResolve(outer.ID, callers.Caller{Client: "mcp", PID: w.pid(14), Getenv: inherited})
}

// Whoever waits for the registry's lock would wait for a disk of the client's, too.
// isLocked says whether somebody has a lock of the root.
func (w *world) isLocked(name string) bool {
	held, err := w.Dir().IsHeld(name)
	return err == nil && held
}

func TestAClientsFilesAreReadBeforeTheRegistryIsLocked(t *testing.T) {
	w := newWorld(t)
	looked := 0
	getenv := func(name string) string {
		if name == "KIMI_CODE_HOME" {
			if looked++; w.isLocked(sessions.RegistryLock) {
				t.Error("read with the registry locked")
			}
		}
		return ""
	}
	w.attach(callers.Caller{Client: "kimi", ClientID: "k1", PID: w.pid(10), Getenv: getenv})
	w.register("amber", callers.Caller{Client: "kimi", ClientID: "k1", PID: w.pid(20), Getenv: getenv})
	if looked != 2 {
		t.Errorf("looked %d times", looked)
	}
}

func TestOrphansOfTwoClientsAreTwoSessions(t *testing.T) {
	w := newTableWorld(t)
	w.table[1] = sessions.Process{PID: 1, Start: 1}
	gem, foo := callers.Caller{Client: "gem", PID: w.pid(1)}, callers.Caller{Client: "foo", PID: w.pid(1)}
	one := w.attach(gem)
	if two := w.attach(foo); two.ID == one.ID {
		t.Errorf("both are %+v", one)
	}
	w.wantResolve(one.ID, gem)
}

// The model may have written the id: without the plugin nothing else did.
func TestAClaimedSessionIsThatOfTheSameProcess(t *testing.T) {
	w := newTableWorld(t)
	one := w.attach(callers.Caller{Client: "opencode", ClientID: "ses-1", PID: w.pid(10)}) // as the plugin says
	two := w.attach(callers.Caller{Client: "opencode", ClientID: "ses-2", PID: w.pid(10)})
	other := w.attach(callers.Caller{Client: "opencode", ClientID: "ses-3", PID: w.pid(20)})
	w.wantResolve(one.ID, callers.Caller{Client: "opencode", Claimed: "ses-1", PID: w.pid(10)})
	w.wantResolve(two.ID, callers.Caller{Client: "opencode", Claimed: "ses-2", PID: w.pid(10)})
	w.wantResolve(other.ID, callers.Caller{Client: "opencode", Claimed: "ses-3", PID: w.pid(20)})
	w.wantNobody(sessions.ErrNoSession, callers.Caller{Client: "opencode", Claimed: "ses-1", PID: w.pid(20)}) // and not ses-3, which the process tells
	w.wantNobody(sessions.ErrNoSession, callers.Caller{Client: "opencode", Claimed: "ses-1", PID: w.pid(30)})
	w.wantNobody(sessions.ErrNoSession, callers.Caller{Client: "opencode", Claimed: "ses-1"})
	w.wantNobody(sessions.ErrNoSession, callers.Caller{Client: "opencode", Claimed: "ses-4", PID: w.pid(10)})
	w.ends(10)
	w.table[10] = sessions.Process{PID: 10, Start: 7000, Parent: 1} // another one with its number
	w.wantNobody(sessions.ErrNoSession, callers.Caller{Client: "opencode", Claimed: "ses-1", PID: w.pid(10)})
}

// In a small virtual machine the first process may start with the first tick.
func TestAClientThatStartedFirstIsAlive(t *testing.T) {
	w := newTableWorld(t)
	w.table[1] = sessions.Process{PID: 1, Start: 1}
	s := w.attach(callers.Caller{PID: w.pid(1), Client: "claude", ClientID: "a"})
	if s.State != sessions.Alive {
		t.Errorf("its state is %s", s.State)
	}
	w.attach(callers.Caller{PID: w.pid(10), Client: "claude", ClientID: "b"})
	w.attach(callers.Caller{PID: w.pid(1), Client: "claude", ClientID: "b"}) // /resume
	if left, err := callers.Resolve(t.Context(), w.Registry, callers.Caller{Explicit: s.ID}); err != nil || left.State != sessions.Absent {
		t.Errorf("the session that its client has left: %s, %v", left.State, err)
	}
}
