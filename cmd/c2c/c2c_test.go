package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"c2c/cmd/cli"
	"c2c/internal/atomicfile"
	"c2c/sessions"
)

// run is one command of the session on a scratch root.
func run(t *testing.T, root, session string, args ...string) (out, errs string, code int) {
	t.Helper()
	return runWith(t, "", root, session, args...)
}

func runWith(t *testing.T, stdin, root, session string, args ...string) (out, errs string, code int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	a := &app{strings.NewReader(stdin), &stdout, &stderr, func(name string) string {
		return map[string]string{"C2C_MCP_BROKER_ROOT": root, "C2C_MCP_SESSION_ID": session, "HOME": filepath.Dir(root)}[name]
	}, filepath.Dir(root), 5 * time.Second}
	code = a.main(t.Context(), args)
	return stdout.String(), stderr.String(), code
}

func scratch(t *testing.T) string {
	t.Helper()
	root := filepath.Join(t.TempDir(), "root")
	for _, name := range []string{"amber", "birch"} {
		if _, errs, code := run(t, root, "", "register", name, "--session-id", name); code != cli.Done {
			t.Fatal(errs)
		}
	}
	return root
}

func TestBadInputIsRefusedWithWordsAndChangesNothing(t *testing.T) {
	for _, tc := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"send", "ambr", "x"}, cli.NoAlias, `did you mean "amber"`},
		{[]string{"send", "birch", "x"}, cli.Failed, "yourself"},
		{[]string{"send", "amber"}, cli.Usage, "no body"},
		{[]string{"send", "amber", "a\x00b"}, cli.Failed, "NUL"},
		{[]string{"send", "amber", "\xff"}, cli.Failed, "UTF-8"},
		{[]string{"send", "amber", strings.Repeat("x", 300<<10)}, cli.Failed, "too large"},
		{[]string{"send", "amber", "x", "--id", "../x"}, cli.Usage, "message id"},
		{[]string{"send", "amber", "x", "--urgent", "--fail"}, cli.Usage, "only one"},
		{[]string{"send", "amber", "-F", "/dev/zero"}, cli.Failed, "more than 1048576 bytes"},
		{[]string{"register", "--", "-x"}, cli.Usage, "must start with"},
		{[]string{"register", "--x"}, cli.Usage, "no option --x"},
		{[]string{"register", "all"}, cli.Usage, "reserved"},
		{[]string{"send", "all", "x", "--id", "y"}, cli.Usage, "one session"},
		{[]string{"rooms", "create", "#x y"}, cli.Usage, "at most 63"},
		{[]string{"rooms", "join", "x/y"}, cli.Usage, "at most 63"},
		{[]string{"history", "--limit", "-1"}, cli.Usage, "0 for all"},
		{[]string{"dead-letter", "--limit", "-1"}, cli.Usage, "0 for all"},
		{[]string{"poll-inbox", "--check"}, cli.Nothing, ""},
	} {
		root := scratch(t)
		_, errs, code := run(t, root, "birch", tc.args...)
		if code != tc.code || !strings.Contains(errs, tc.says) {
			t.Errorf("%.40q: exit %d, %s", tc.args, code, errs)
		}
		if _, err := os.Stat(filepath.Join(root, "amber.inbox.json")); !os.IsNotExist(err) {
			t.Errorf("%.40q wrote an inbox: %v", tc.args, err)
		}
	}
}

// What a shell would run in a word in double quotes comes through standard input as it is, at the
// places where help offers that.
func TestATextIsReadFromStandardInput(t *testing.T) {
	const body = "run `make` in $HOME"
	for _, args := range [][]string{
		{"send", "amber", "-F", "-"}, {"send", "amber", "-"}, {"ask", "amber", "--wait", "1ms", "-F", "-"}, {"send-all", "-F", "-"},
		{"reply", "-F", "-"}, {"reply", "0f0f0f0f", "-F", "-"}, {"reply", "0f0f0f0f", "-"},
	} {
		root := scratch(t)
		mustRun(t, root, "amber", "send", "birch", "question", "--id", "0f0f0f0f")
		mustRun(t, root, "birch", "poll-inbox")
		_, errs, code := runWith(t, body+"\n", root, "birch", args...)
		if out := mustRun(t, root, "amber", "poll-inbox"); !strings.Contains(out, body) || args[0] != "ask" && code != cli.Done {
			t.Errorf("%q: exit %d, %s%s", args, code, errs, out)
		}
	}
}

// A script that has named nobody is told what to add; a name that nobody has makes no session.
func TestWhoSendsIsAskedInOneLine(t *testing.T) {
	root := scratch(t)
	before := mustRun(t, root, "", "list", "--json")
	for _, tc := range []struct {
		session, args string
		code          int
		says          string
	}{
		{"", "send amber hello", cli.Failed, "c2c: who sends? add --from NAME\nc2c: hint: c2c register --session-id NAME NAME makes that session, once; an agent's own shell needs no name, nor does a person's terminal outside of containers and sandboxes\n"},
		{"", "poll-inbox", cli.Failed, "c2c: for whom? add --session-id NAME\nc2c: hint: c2c register --session-id NAME NAME makes that session, once; an agent's own shell needs no name, nor does a person's terminal outside of containers and sandboxes\n"},
		{"", "send amber hello --from deploy", cli.NoAlias, "c2c: no such alias \"deploy\"\nc2c: hint: to make this session: c2c register --session-id deploy deploy; to list sessions: c2c list\n"},
		{"", "send amber hello --from ambr", cli.NoAlias, "c2c: no such alias \"ambr\"\nc2c: hint: did you mean \"amber\"? c2c list shows all of this project\n"},
		{"zzz", "send amber hello", cli.NoAlias, "c2c: no such alias \"zzz\"\nc2c: hint: C2C_MCP_SESSION_ID has this name, but takes a session id; to make a session with this id, run (once): c2c register\n"},
		{"zzz", "whoami", cli.NoAlias, "c2c: no such alias \"zzz\"\nc2c: hint: C2C_MCP_SESSION_ID has this name, but takes a session id; to make a session with this id, run (once): c2c register\n"},
	} {
		if _, errs, code := run(t, root, tc.session, strings.Fields(tc.args)...); code != tc.code || errs != tc.says {
			t.Errorf("%q %s: exit %d, %s", tc.session, tc.args, code, errs)
		}
	}
	if after := mustRun(t, root, "", "list", "--json"); after != before {
		t.Errorf("before %s after %s", before, after)
	}
	mustRun(t, root, "zzz", "register")
	mustRun(t, root, "zzz", "send", "amber", "hello")
}

// A shell may ask at each prompt: where there is no root, none is made.
func TestALookForMailMakesNoRoot(t *testing.T) {
	root := filepath.Join(t.TempDir(), "root")
	if _, errs, code := run(t, root, "", "poll-inbox", "--check"); code != cli.Nothing || errs != "" {
		t.Errorf("exit %d, %s", code, errs)
	}
	if _, err := os.Stat(root); !os.IsNotExist(err) {
		t.Errorf("the root: %v", err)
	}
}

func TestARootOfOthersIsRefused(t *testing.T) {
	root := filepath.Join(t.TempDir(), "root")
	if err := os.Mkdir(root, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(root, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, errs, code := run(t, root, "birch", "list"); code != cli.Failed || !strings.Contains(errs, "chmod") {
		t.Errorf("exit %d, %s", code, errs)
	}
}

func TestABrokenRegistryIsReportedAndKept(t *testing.T) {
	root := scratch(t)
	path := filepath.Join(root, "registry.json")
	if err := os.WriteFile(path, []byte(`[{"session_id":`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, errs, code := run(t, root, "birch", "send", "amber", "x"); code == cli.Done || !strings.Contains(errs, "registry") {
		t.Errorf("exit %d, %s", code, errs)
	}
	kept, _ := filepath.Glob(path + "*")
	for _, name := range kept {
		if data, _ := os.ReadFile(name); string(data) == `[{"session_id":` {
			return
		}
	}
	t.Errorf("the broken registry is gone; there are %q", kept)
}

func TestMailIsReadOnce(t *testing.T) {
	root := scratch(t)
	if _, errs, code := run(t, root, "birch", "send", "amber", "hello", "--id", "m1"); code != cli.Done {
		t.Fatal(errs)
	}
	if out, _, _ := run(t, root, "amber", "poll-inbox", "--wait=1m"); !strings.Contains(out, "\nhello\n") {
		t.Errorf("first poll %q", out)
	}
	if out, _, _ := run(t, root, "amber", "poll-inbox"); out != "(no messages)\n" {
		t.Errorf("second poll %q", out)
	}
	if out, _, _ := run(t, root, "birch", "status", "m1"); !strings.Contains(out, "read by cli_poll") {
		t.Errorf("status %q", out)
	}
}

func TestDoNotDisturbIsRemembered(t *testing.T) {
	root := scratch(t)
	mustRun(t, root, "amber", "dnd", "on")
	if out := mustRun(t, root, "amber", "dnd"); !strings.Contains(out, "is on") {
		t.Errorf("%s", out)
	}
	mustRun(t, root, "birch", "send", "amber", "hello") // it is filed all the same
	mustRun(t, root, "amber", "dnd", "off")
	if out := mustRun(t, root, "amber", "dnd", "--json"); !strings.Contains(out, `"dnd": false`) {
		t.Errorf("%s", out)
	}
	if out := mustRun(t, root, "amber", "poll-inbox"); !strings.Contains(out, "hello") {
		t.Errorf("%s", out)
	}
}

// Who reads for the first time is registered, which needs the registry's lock.
func TestAReaderThatIsNewWaitsForTheRegistryAsLongAsForALock(t *testing.T) {
	root := scratch(t)
	dir, err := atomicfile.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	lock, err := atomicfile.Acquire(t.Context(), dir, sessions.RegistryLock)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()
	var stdout, stderr bytes.Buffer
	a := &app{strings.NewReader(""), &stdout, &stderr, func(name string) string {
		return map[string]string{"C2C_MCP_BROKER_ROOT": root, "USER": "ada"}[name]
	}, root, time.Millisecond}
	if code := a.main(t.Context(), []string{"poll-inbox"}); code != cli.Locked {
		t.Errorf("exit %d, %s", code, &stderr)
	}
}

func TestASweepThatFailsHalfwayTellsWhatItHasDone(t *testing.T) {
	root := scratch(t)
	if err := os.WriteFile(filepath.Join(root, "archive"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	out, errs, code := run(t, root, "", "sweep", "--grace", "0s")
	if code != cli.Failed || !strings.Contains(out, "amber (session amber)") || !strings.Contains(errs, "archive") {
		t.Errorf("exit %d, it said %q, %q", code, out, errs)
	}
}
