package callers_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"c2c/client"
	"c2c/sessions"
	"c2c/sessions/callers"
)

// table is a process table in memory. This process is 100.
type table struct {
	starts    map[int]sessions.Process
	environ   map[int][]string
	namespace string
}

func (t table) Self() int                                                 { return 100 }
func (t table) Environ(pid int) []string                                  { return t.environ[pid] }
func (t table) Namespace() string                                         { return t.namespace }
func (t table) Opened(client.Profile, int) (ids map[string]bool, ok bool) { return nil, false }
func (t table) Find(pid int) (sessions.Process, error) {
	if p, there := t.starts[pid]; there {
		return p, nil
	}
	return sessions.Process{}, sessions.ErrNoProcess
}

// lab has the roots a and b of two projects.
type lab struct {
	*testing.T
	table
	home string
	a, b string
}

// newLab makes the processes 100 (this one), its shell 90 and the clients 80, 70 and 60, each the
// child of the next.
func newLab(t *testing.T) *lab {
	l := &lab{T: t, home: t.TempDir(), table: table{map[int]sessions.Process{}, map[int][]string{}, "pid:[1] boot machine"}}
	for _, pid := range []int{100, 90, 80, 70, 60} {
		l.starts[pid] = sessions.Process{PID: pid, Parent: pid - 10, Start: int64(pid)}
	}
	l.a, l.b = l.root("aaaaaaaaaaaa"), l.root("bbbbbbbbbbbb")
	return l
}

func (l *lab) root(name string) string { return filepath.Join(l.home, ".c2c", "repos", name, "broker") }

func (l *lab) pointer(name string) string { return filepath.Join(l.home, ".c2c", "pointers", name) }

// bind binds a session to a client in a root.
func (l *lab) bind(root string, c callers.Caller) {
	l.Helper()
	reg, err := sessions.Open(sessions.Config{Root: root})
	if err != nil {
		l.Fatal(err)
	}
	defer reg.Close()
	reg.Processes, reg.Getenv = l.table, sessions.EnvironmentOf([]string{"HOME=" + l.home})
	own, _, err := callers.Arrive(l.Context(), reg, c, "")
	if err != nil {
		l.Fatal(err)
	}
	if c.ByHook { // as the hook of a client with the script does
		if err := callers.Point(l.pointer(c.ClientID), root, reg.Session(own)); err != nil {
			l.Fatal(err)
		}
	}
}

func (l *lab) want(root string, c callers.Caller, variables ...string) {
	l.Helper()
	c.Getenv = func(name string) string {
		return sessions.EnvironmentOf(append([]string{"HOME=" + l.home}, variables...))(name)
	}
	if got := callers.Root(l.table, c); got != root {
		l.Errorf("%s %s %d %q: %q, want %q", c.Client, c.ClientID, c.PID, variables, got, root)
	}
}

func claudeIn(pid int, id string) callers.Caller {
	return callers.Caller{Client: "claude", ClientID: id, PID: pid}
}

func TestARunningSessionOwnsItsHooksServersAndShells(t *testing.T) {
	l := newLab(t)
	shell := callers.Caller{}
	l.want("", shell)
	l.want("", claudeIn(80, "u1"))
	hook := claudeIn(80, "u1")
	hook.ByHook = true
	l.bind(l.a, hook)
	l.want(l.a, shell)
	l.want(l.a, shell, "CLAUDE_CODE_SESSION_ID=u1")
	l.want(l.a, claudeIn(80, "u1"))
	l.want(l.a, claudeIn(80, "u2"))                             // after /clear
	l.want(l.a, claudeIn(81, "u1"))                             // another window opens the conversation that runs
	l.want(l.a, callers.Caller{Client: "claude-code", PID: 80}) // an MCP server
	l.want("", claudeIn(90, "u3"))                              // a client in the shell of this one, before it has a session
	l.want("", callers.Caller{Client: "claude", ClientID: "u1", PID: 80, Remote: true})
	l.want("", callers.Caller{Start: "claude"})

	l.starts[80] = sessions.Process{PID: 80, Parent: 70, Start: 81} // it has ended, and its id is used again
	l.want("", shell, "CLAUDE_CODE_SESSION_ID=u1")
	l.want("", claudeIn(80, "u1"))
	delete(l.starts, 80)
	l.want("", claudeIn(82, "u1"))
	l.starts[80] = sessions.Process{PID: 80, Parent: 70, Start: 80}
	l.namespace = "pid:[1] later machine" // a reboot
	l.want("", claudeIn(80, "u1"))
	l.namespace = "pid:[2] boot machine" // a sandbox cannot see the process, so the session may run
	l.want(l.a, shell, "CLAUDE_CODE_SESSION_ID=u1")
	l.want("", shell)
}

// A session that is opened again and again has one file, and a process that runs keeps its own.
func TestTheFileOfAProcessThatHasEndedIsRemoved(t *testing.T) {
	l := newLab(t)
	for pid := 200; pid < 210; pid++ {
		l.starts[pid] = sessions.Process{PID: pid, Parent: 1, Start: int64(pid)}
		l.bind(l.a, claudeIn(pid, "u1"))
		if pid != 203 {
			delete(l.starts, pid)
		}
	}
	l.starts[209] = sessions.Process{PID: 209, Parent: 1, Start: 209}
	l.bind(l.b, claudeIn(60, "u2"))
	names, err := filepath.Glob(l.pointer("*"))
	if want := []string{l.pointer("pid:[1]:203"), l.pointer("pid:[1]:209"), l.pointer("pid:[1]:60")}; err != nil || !slices.Equal(names, want) {
		t.Errorf("%q, want %q: %v", names, want, err)
	}
}

func TestTheNearestClientOwnsAShell(t *testing.T) {
	l := newLab(t)
	l.bind(l.a, claudeIn(60, "u1"))
	l.bind(l.b, callers.Caller{Client: "gemini", ClientID: "g1", PID: 80})
	l.want(l.b, callers.Caller{}, "CLAUDE_CODE_SESSION_ID=u1")
	delete(l.starts, 80) // it has ended, and its shell runs on
	l.want("", callers.Caller{})
}

// One process of Codex serves the threads of several projects.
func TestASharedProcessOwnsNobody(t *testing.T) {
	l := newLab(t)
	thread := func(id string) callers.Caller { return callers.Caller{Client: "codex", ClientID: id, PID: 70} }
	l.bind(l.a, thread("t1"))
	l.bind(l.b, thread("t2"))
	l.want(l.a, callers.Caller{}, "CODEX_THREAD_ID=t1")
	l.want(l.b, callers.Caller{}, "CODEX_THREAD_ID=t2")
	l.want(l.b, callers.Caller{Client: "codex", ClientID: "t2"})
	l.want("", callers.Caller{Client: "codex", ClientID: "t3"})
	l.want("", callers.Caller{})
	l.want("", callers.Caller{Client: "codex", PID: 70})
	l.want("", callers.Caller{}, "CLAUDE_CODE_SESSION_ID=t1") // another client's id

	l.bind(l.b, claudeIn(80, "u1"))                                   // in a shell of the thread t1
	for _, environ := range [][]string{{"CODEX_THREAD_ID=t1"}, nil} { // nil: macOS
		l.environ[80] = environ
		l.want(l.b, callers.Caller{}, "CODEX_THREAD_ID=t1")
	}

	l.bind(l.a, callers.Caller{Client: "codex", ClientID: "t4", PID: 90}) // in a shell of Claude Code
	for _, environ := range [][]string{{"CLAUDE_CODE_SESSION_ID=u1"}, nil} {
		l.environ[90] = environ
		l.want(l.a, callers.Caller{}, "CODEX_THREAD_ID=t4", "CLAUDE_CODE_SESSION_ID=u1")
	}
}

// The command stands in a shell of the inner client, even if no call of it has reached c2c.
func TestANestedClientDoesNotTakeTheRootOfTheOuterOne(t *testing.T) {
	l := newLab(t)
	l.bind(l.a, claudeIn(60, "u1"))
	l.environ[60] = []string{}
	l.want("", callers.Caller{}, "CLAUDE_CODE_SESSION_ID=u1", "CODEX_THREAD_ID=t1")
	l.environ[60] = []string{"CODEX_THREAD_ID=t1"} // Claude Code runs in a shell of Codex
	l.want(l.a, callers.Caller{}, "CLAUDE_CODE_SESSION_ID=u1", "CODEX_THREAD_ID=t1")

	l.bind(l.b, callers.Caller{Client: "unknown", PID: 80})
	l.environ[80] = []string{"CLAUDE_CODE_SESSION_ID=u1"}
	l.want("", callers.Caller{}, "CLAUDE_CODE_SESSION_ID=u1")
}

// C2C_MCP_BROKER_ROOT may name any directory.
func TestAnAgentIsNoPersonWhateverItsRoot(t *testing.T) {
	for _, root := range []string{"repos/aaaaaaaaaaaa/broker", "elsewhere"} {
		l := newLab(t)
		c := callers.Caller{Getenv: sessions.EnvironmentOf([]string{"HOME=" + l.home}), User: &callers.User{Terminal: true}}
		if err := callers.CheckPerson(c, l.table); err != nil {
			t.Errorf("%s: without a client: %v", root, err)
		}
		l.bind(filepath.Join(l.home, ".c2c", root), claudeIn(70, "u1"))
		c.User = &callers.User{Terminal: true}
		if err := callers.CheckPerson(c, l.table); err == nil || !strings.Contains(err.Error(), "the shell of") {
			t.Errorf("%s: below a client: %v", root, err)
		}
		l.starts[200] = sessions.Process{PID: 200, Parent: 1, Start: 200}
		l.bind(filepath.Join(l.home, ".c2c", root), claudeIn(200, "u1")) // another window opens the conversation
		if _, err := os.Stat(l.pointer("pid:[1]:70")); err != nil {
			t.Errorf("%s: a process that runs: %v", root, err)
		}
	}
}

// An editor may have several projects open, and a person types in its terminals.
func TestAClientWithoutAProfileOwnsNobody(t *testing.T) {
	l := newLab(t)
	l.bind(l.a, callers.Caller{Client: "editor", PID: 80})
	l.want("", callers.Caller{})
	l.bind(l.a, callers.Caller{Client: "claude", PID: 80, Remote: true}) // over HTTP it may name any folder
	l.want("", callers.Caller{})
}

func TestAPointerLeadsOnlyToARootOfThisUser(t *testing.T) {
	l := newLab(t)
	l.bind(l.a, claudeIn(80, "u1"))
	name := l.pointer("pid:[1]:80")
	good, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/etc/s", "s", filepath.Join(l.home, "repos", "aaaaaaaaaaaa", "broker", "s"), filepath.Dir(l.a) + "/s",
		filepath.Join(l.home, ".c2c", "repos", "..", "..", "broker", "s"), l.a + "/x/s", ""} {
		_, rest, _ := strings.Cut(string(good), "\n")
		if err := os.WriteFile(name, []byte(path+"\n"+rest), 0o600); err != nil {
			t.Fatal(err)
		}
		l.want("", callers.Caller{})
	}
	for _, text := range []string{"", l.a + "/s", l.a + "/s\n", l.a + "/s\nclaude x y z\n", l.a + "/s\nclaude 80\n", strings.Repeat("x", 1<<16)} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		l.want("", callers.Caller{})
	}
	os.Remove(name)
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	l.want("", callers.Caller{})
	os.Remove(name)
	real := filepath.Join(l.home, "real")
	if err := os.WriteFile(real, good, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, name); err != nil {
		t.Fatal(err)
	}
	l.want("", callers.Caller{})
	os.Remove(name)
	if err := os.Rename(real, name); err != nil {
		t.Fatal(err)
	}
	l.want(l.a, callers.Caller{})
	if err := os.Chmod(filepath.Dir(name), 0o777); err != nil { // others could write there
		t.Fatal(err)
	}
	l.want("", callers.Caller{})
}

func TestARootThatWasMergedLeadsOn(t *testing.T) {
	l := newLab(t)
	l.bind(l.a, claudeIn(80, "u1"))
	if err := os.RemoveAll(filepath.Dir(l.a)); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("bbbbbbbbbbbb", filepath.Dir(l.a)); err != nil {
		t.Fatal(err)
	}
	l.want(l.b, callers.Caller{})
}
