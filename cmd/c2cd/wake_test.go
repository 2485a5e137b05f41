package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"c2c/cmd/cli"
)

// keeper is somebody with a shell who runs `c2c wake` in a home of their own.
type keeper struct {
	t         *testing.T
	bin, home string
}

func newKeeper(t *testing.T) *keeper {
	t.Helper()
	k := &keeper{t, programs(t), t.TempDir()}
	t.Cleanup(func() { k.try("daemon", "stop") })
	return k
}

func (k *keeper) root() string { return filepath.Join(k.home, "root") }

func (k *keeper) try(args ...string) (string, error) {
	out, err := k.command(args...).CombinedOutput()
	return string(out), err
}

func (k *keeper) command(args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(k.bin, "c2c"), args...)
	cmd.Dir = k.home
	cmd.Env = k.env()
	return cmd
}

func (k *keeper) env() []string {
	return []string{"HOME=" + k.home, "PATH=" + k.bin + ":" + os.Getenv("PATH"), "C2C_MCP_BROKER_ROOT=" + k.root(), "SECRET_KEY=hush"}
}

func (k *keeper) run(args ...string) string {
	k.t.Helper()
	out, err := k.try(args...)
	if err != nil {
		k.t.Fatalf("c2c %q: %v: %s", args, err, out)
	}
	return out
}

func (k *keeper) pid() int {
	k.t.Helper()
	var st wakeStatus
	out, err := k.command("wake", "status", "--json").Output()
	if jerr := json.Unmarshal(out, &st); jerr != nil {
		k.t.Fatalf("%v: %s", jerr, out)
	}
	k.exits(err, st.PID != 0)
	return st.PID
}

// exits checks the exit status of a status verb.
func (k *keeper) exits(err error, runs bool) {
	k.t.Helper()
	want := cli.Nothing
	if runs {
		want = cli.Done
	}
	if got := exitOf(err); got != want {
		k.t.Errorf("exit status %d, not %d", got, want)
	}
}

func TestOneWakeDaemonRunsUntilItIsStopped(t *testing.T) {
	k := newKeeper(t)
	if pid := k.pid(); pid != 0 {
		t.Fatalf("process %d runs already", pid)
	}
	if out := k.run("wake", "start", "--min-inject-gap", "20s"); !strings.Contains(out, "process "+strconv.Itoa(k.pid())+"\n") {
		t.Errorf("%s, and process %d runs", out, k.pid())
	}
	first := k.pid()
	if first == 0 {
		t.Fatal("it does not run")
	}
	if out := k.run("wake", "start"); !strings.Contains(out, "already") || k.pid() != first {
		t.Errorf("a second start: %s", out)
	}
	if out, err := k.try("wake", "run"); err == nil || !strings.Contains(out, "runs already") {
		t.Errorf("a second one in front: %v, %s", err, out)
	}
	env, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(first), "environ"))
	if err == nil && strings.Contains(string(env), "hush") {
		t.Error("it keeps a key of the shell that started it")
	}
	k.run("wake", "restart") // the part alone begins anew
	if pid := k.pid(); pid != first {
		t.Errorf("restarted as process %d, it was %d", pid, first)
	}
	k.run("wake", "stop")
	if pid := k.pid(); pid != 0 {
		t.Errorf("process %d after stop", pid)
	}
	if out := k.run("wake", "stop"); !strings.Contains(out, "no wake daemon") {
		t.Errorf("a second stop: %s", out)
	}
	log, err := os.ReadFile(filepath.Join(k.home, ".c2c/daemon/daemon.log"))
	if err != nil || !strings.Contains(string(log), "min-inject-gap=20s") || strings.Count(string(log), "wake daemon runs") != 2 {
		t.Errorf("log %q, %v", log, err)
	}
}

// A crash leaves the process id; somebody else may have that number by now.
func TestAProcessThatIsNotTheDaemonIsNotStopped(t *testing.T) {
	k := newKeeper(t)
	k.run("wake", "start")
	if err := syscall.Kill(k.pid(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	k.run("wake", "start") // the lock ended with its process
	k.run("wake", "stop")
	if err := os.WriteFile(filepath.Join(k.home, ".c2c/daemon/daemon.lock"), []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := k.run("wake", "stop"); !strings.Contains(out, "no wake daemon") {
		t.Errorf("stop: %s", out)
	}
}

func TestOnlyAKnownClientInAKnownPaneIsAttached(t *testing.T) {
	k := newKeeper(t)
	k.run("register", "amber", "--session-id", "amber")
	if out, err := k.try("wake", "attach", "--session-id", "amber"); err == nil || !strings.Contains(out, "run this inside tmux") || !strings.Contains(out, "! c2c wake attach") {
		t.Errorf("outside: %v, %s", err, out)
	}
	if out := k.run("wake", "detach", "--session-id", "amber"); !strings.Contains(out, "amber was not attached") {
		t.Errorf("detach: %s", out)
	}
}

func TestWakeSaysWhatItTakes(t *testing.T) {
	k := newKeeper(t)
	for _, args := range [][]string{{"wake"}, {"wake", "dance"}, {"wake", "start", "stop"}, {"wake", "run", "--min-inject-gap", "-1s"}} {
		if out, err := k.try(args...); err == nil || !strings.Contains(out, "wake") {
			t.Errorf("%q: %v, %s", args, err, out)
		}
	}
	if out := k.run("wake", "--help"); !strings.Contains(out, "attach, detach") {
		t.Errorf("help: %s", out)
	}
}

func TestWakeAttachSaysWhereToRunIt(t *testing.T) {
	c := newClinic(t)
	env := map[string]string{"HOME": c.home, "C2C_MCP_BROKER_ROOT": c.b.Root(), "TMUX": "/tmp/none,1,0", "TMUX_PANE": "%0"}
	run := func(args ...string) string {
		var out bytes.Buffer
		a := &app{stdout: &out, stderr: &out, cwd: c.home, getenv: func(name string) string { return env[name] }}
		a.main(t.Context(), args)
		return out.String()
	}
	out := run("wake", "attach", "--session-id", "nobody")
	if !strings.Contains(out, "! c2c wake attach") || !strings.Contains(out, "--session-id amber") {
		t.Errorf("an unknown session: %s", out)
	}
	for line := range strings.Lines(out) {
		if len(line) > 80 {
			t.Errorf("%d columns: %s", len(line), line)
		}
	}
	c.session("opencode", "coral", os.Getpid())
	if out := run("wake", "attach", "--session-id", "coral"); !strings.Contains(out, `"coral" runs in opencode, whose prompt c2c does not know`) {
		t.Errorf("a client that c2c does not type to: %s", out)
	}
	id, _ := c.session("claude", "amber", os.Getpid())
	if err := c.b.SetPane(t.Context(), id, "tmux:%0:/tmp/none"); err != nil {
		t.Fatal(err)
	}
	if out := run("wake", "detach", "--session-id", "amber"); out != "amber gets no typed rings any more\n" {
		t.Errorf("detach: %s", out)
	}
	if out := run("wake", "detach", "--session-id", "amber"); out != "amber was not attached\n" {
		t.Errorf("detach again: %s", out)
	}
}
