//go:build !portable

package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"c2c/internal/atomicfile"
)

// isolated puts a command into a PID namespace of its own, as containers and sandboxes do.
func isolated(t *testing.T) string {
	t.Helper()
	unshare := "unshare -pf --mount-proc "
	if os.Geteuid() != 0 {
		unshare = "unshare -Urpf --mount-proc "
	}
	if out, err := exec.Command("sh", "-c", unshare+"true").CombinedOutput(); err != nil {
		why := "no PID namespace of its own for this test: " + string(out) + err.Error()
		if os.Getenv("C2C_TEST_NOSKIP") != "" {
			t.Fatal(why)
		}
		t.Skip(why)
	}
	return unshare
}

// Two containers share a root: what one cannot see of the other is not gone.
func TestASessionInAnotherPIDNamespaceIsNotTakenForAbsent(t *testing.T) {
	inside := isolated(t)
	s := newShell(t)
	client := s.command(`printf '{"hook_event_name":"SessionStart","session_id":"uuid-1"}' | C2C_MCP_SESSION_ID=amber CLAUDE_PID=$$ c2c hook >&2
		echo ready; exec sleep 1000`)
	out, err := client.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { client.Process.Kill(); client.Wait() }()
	if _, err := io.ReadFull(out, make([]byte, len("ready\n"))); err != nil {
		t.Fatal(err)
	}
	state := func(list string) string {
		for line := range strings.Lines(list) {
			if f := strings.Fields(line); f[0] == "amber" {
				return f[1]
			}
		}
		return list
	}
	if got := state(s.want("c2c list")); got != "alive" {
		t.Fatalf("outside, amber is %s", got)
	}
	if got := state(s.want(inside + "c2c list")); got != "unknown" {
		t.Errorf("inside, amber is %s", got)
	}
	if out, err := s.command(inside + "c2c register amber").CombinedOutput(); err == nil || !strings.Contains(string(out), "belongs to another session") {
		t.Errorf("inside, amber is taken: %v: %s", err, out)
	}
	if out := s.want(inside + "c2c send-all to-all"); !strings.Contains(out, "amber") {
		t.Errorf("send-all says %q", out)
	}

	// What holds the lock of its ringer is alive, wherever it is.
	dir, err := atomicfile.Open(filepath.Join(s.home, "root"))
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	lock, err := atomicfile.Acquire(t.Context(), dir, "amber.wake.lock")
	if err != nil {
		t.Fatal(err)
	}
	if got := state(s.want(inside + "c2c list")); got != "alive" {
		t.Errorf("with a live server, amber is %s", got)
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	if got := s.want("c2c peek-inbox --session-id amber"); !strings.Contains(got, "before") || !strings.Contains(got, "to-all") {
		t.Errorf("amber has %s", got)
	}
}

// In a PID namespace of its own an agent's process has no parents.
func TestAPersonsMailboxIsNotGivenInAnotherPIDNamespace(t *testing.T) {
	inside := isolated(t)
	s := newShell(t)
	if out, err := s.atTerminal("unset C2C_MCP_SESSION_ID; c2c register amy"); err != nil {
		t.Fatal(out, err)
	}
	s.want("c2c send amy for-amy")
	if out, err := s.atTerminal("unset C2C_MCP_SESSION_ID; " + inside + "c2c poll-inbox"); err == nil || strings.Contains(out, "for-amy") {
		t.Errorf("inside: %v: %s", err, out)
	}
}

// The client is process 1 of a container, so it is the parent of all that its agent has left in the
// background.
func TestAClientThatIsProcess1IsNoLogin(t *testing.T) {
	k := &keeper{t, keptPrograms(t), t.TempDir()}
	if err := os.WriteFile(filepath.Join(k.home, "agent"), []byte(`hook='printf "{\"session_id\":\"claude-1\",\"hook_event_name\":\"SessionStart\"}" | CLAUDE_PID=$$ c2c hook --client claude >&2'
		eval "$hook"
		export LINE='c2c senders allow ci --to amber; echo exit $?'
		mkfifo end
		(setsid script -qec "$LINE" shown >/dev/null 2>&1 </dev/null 8>end &)
		cat end # until the terminal is closed
		cat shown`), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := k.command()
	cmd.Path, cmd.Args = "/bin/sh", []string{"sh", "-c", isolated(t) + `bash -c 'exec -a claude sh ./agent'`}
	cmd.Env = append(cmd.Env, "USER=ada", "TERM=xterm")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), noLogin) || !strings.Contains(string(out), "exit 1") {
		t.Errorf("%s, %v", out, err)
	}
}
