package main

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"c2c/cmd/cli"
	"c2c/internal/daemon"
)

// session starts a session of a client, with an MCP server of c2c.
func (h *host) session() {
	h.t.Helper()
	cmd := h.command("mcp")
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { in.Close(); cmd.Wait() })
	in.Write([]byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}` + "\n"))
}

func TestTheDaemonThatWasKilledComesBackWithTheNextSession(t *testing.T) {
	h := newHost(t)
	h.run("serve", "start", "--port", h.port)
	h.run("wake", "start")
	wake := "wake " + h.root()
	first := h.daemon()
	if first.PID != h.status().PID || first.PID != h.pid() || len(first.Parts) != 2 || first.Parts[wake].State != daemon.Runs {
		t.Fatalf("%+v", first)
	}
	h.kill(first.PID)
	if out, err := h.try("daemon", "status"); exitOf(err) != cli.Nothing || !strings.Contains(out, "the next session starts it, and so does c2c daemon start\n") || !strings.HasSuffix(out, wake+": on\n") {
		t.Errorf("%v: %s", err, out)
	}
	h.session()
	h.until("it answers again", func() bool { st := h.status(); return st.Answers && strconv.Itoa(st.Port) == h.port })
	h.until("it wakes again", func() bool { return h.pid() != 0 })
	h.run("wake", "stop")
	if st := h.daemon(); len(st.Parts) != 1 || st.Parts[servePart].State != daemon.Runs || !h.status().Answers {
		t.Errorf("%+v", st)
	}
}

func TestADaemonThatAPersonHasStoppedStaysStopped(t *testing.T) {
	h := newHost(t)
	if out, err := h.try("daemon", "start"); err == nil || !strings.Contains(out, "c2c serve start") {
		t.Errorf("with nothing to do: %v, %s", err, out)
	}
	h.run("daemon", "stop")
	if out, err := h.try("daemon", "status"); exitOf(err) != cli.Nothing || out != "no daemon runs, because no part of it is on\n" {
		t.Errorf("with nothing to do, and stopped: %v, %s", err, out)
	}
	h.run("serve", "start", "--port", h.port)
	if out := h.run("daemon", "stop"); out != "daemon ended\n" {
		t.Errorf("stop: %s", out)
	}
	if out := h.run("daemon", "want"); out != "" {
		t.Errorf("want: %s", out)
	}
	if st := h.daemon(); st.PID != 0 || !st.Stopped || len(st.Parts) != 1 {
		t.Errorf("%+v", st)
	}
	if out, _ := h.try("doctor", "--verbose"); !strings.Contains(out, "warning  daemon: was stopped, and with it serve: c2c daemon start") {
		t.Errorf("doctor: %s", out)
	}
	if out := h.run("daemon", "start"); !strings.Contains(out, "daemon runs, process "+strconv.Itoa(h.daemon().PID)) {
		t.Errorf("start: %s", out)
	}
	h.until("it answers again", func() bool { return h.status().Answers })
	if out := h.run("daemon", "log"); !strings.Contains(out, h.port+"/mcp") {
		t.Errorf("log: %s", out)
	}
	before := h.daemon()
	h.run("daemon", "restart")
	h.until("it answers again", func() bool { return h.status().Answers })
	if st := h.daemon(); st.PID != before.PID || st.Parts[servePart].Since == before.Parts[servePart].Since {
		t.Errorf("restarted: %+v", st)
	}
}

// Commands and the daemon are killed at any moment. Afterwards a start starts, and a stop stops.
func TestCommandsThatAreKilledLeaveADaemonThatWorks(t *testing.T) {
	h := newHost(t)
	verbs := []string{"serve start", "serve restart", "daemon restart", "wake start", "serve stop", "daemon stop", "daemon start", "wake stop"}
	for i := range 40 {
		args := strings.Fields(verbs[rand.IntN(len(verbs))])
		if args[0] == "serve" {
			args = append(args, "--port", h.port)
		}
		cmd := h.command(args...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		select {
		case <-ended:
		case <-time.After(time.Duration(rand.IntN(60)) * time.Millisecond):
			cmd.Process.Kill()
			<-ended
		}
		if st := h.daemon(); i%4 == 3 && st.PID != 0 {
			h.kill(st.PID)
		}
	}
	h.run("serve", "start", "--port", h.port)
	h.run("wake", "start")
	h.until("it answers", func() bool { return h.status().Answers })
	if st := h.daemon(); len(st.Parts) != 2 || st.PID != h.pid() || st.PID != h.status().PID {
		t.Errorf("%+v", st)
	}
	h.run("serve", "stop")
	h.run("wake", "stop")
	if st := h.daemon(); st.PID != 0 || len(st.Parts) != 0 {
		t.Errorf("%+v", st)
	}
}

// A part whose work cannot begin is named, and the other parts go on.
func TestAPartThatFailsIsNamedByStatusAndDoctor(t *testing.T) {
	h := newHost(t)
	h.run("wake", "start")
	h.run("serve", "start", "--port", h.port)
	h.run("daemon", "stop")
	if err := os.Mkdir(h.file("http-mcp.json"), 0o700); err != nil {
		t.Fatal(err)
	}
	h.run("daemon", "start")
	failed := func() bool { return h.daemon().Parts[servePart].State == daemon.Failed }
	h.until("it fails", failed)
	if out, _ := h.try("doctor", "--verbose"); !strings.Contains(out, "problem  daemon: serve has failed, and begins again: ") {
		t.Errorf("doctor: %s", out)
	}
	h.until("it wakes", func() bool { return h.pid() != 0 })
	if err := os.Remove(h.file("http-mcp.json")); err != nil {
		t.Fatal(err)
	}
	h.until("it answers", func() bool { return h.status().Answers })
}

// After an update the daemon of the older build may still run. It keeps what it does not know.
func TestAPartOfANewerBuildStaysOnAndIsNamed(t *testing.T) {
	h := newHost(t)
	h.run("serve", "start", "--port", h.port)
	h.run("daemon", "stop")
	path := h.file("daemon", "parts.json")
	text, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, []byte(strings.Replace(string(text), "[", `[{"part": "newer", "how": "x", "run": "1"},`, 1)), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	h.run("daemon", "start")
	h.until("it is named", func() bool { return strings.Contains(h.daemon().Parts["newer"].Error, "c2c daemon restart") })
	h.run("wake", "start")
	if text, err := os.ReadFile(path); err != nil || !strings.Contains(string(text), `"newer"`) || !strings.Contains(string(text), `"how": "x"`) {
		t.Errorf("%v, %s", err, text)
	}
}

// A daemon that began anew would read what is on, and end.
func TestADaemonIsNotRestartedIfWhatIsOnCannotBeRead(t *testing.T) {
	h := newHost(t)
	h.run("wake", "start")
	pid, path := h.daemon().PID, h.file("daemon", "parts.json")
	was, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, was[:len(was)/2], 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if out, err := h.try("daemon", "restart"); err == nil || !strings.Contains(out, "parts.json") {
		t.Errorf("%v, %s", err, out)
	}
	if err := os.WriteFile(path, was, 0o600); err != nil {
		t.Fatal(err)
	}
	if now := h.daemon().PID; now != pid {
		t.Errorf("process %d runs, and %d ran before", now, pid)
	}
}

// The part for a root ends when the root is removed.
func TestTheDaemonEndsWithTheRootThatItWakes(t *testing.T) {
	h := newHost(t)
	h.run("wake", "start")
	pid := h.daemon().PID
	if err := os.Rename(h.root(), filepath.Join(h.home, "gone")); err != nil {
		t.Fatal(err)
	}
	h.run("daemon", "want")
	h.until("it ends", func() bool { return h.daemon().PID != pid })
	if st := h.daemon(); st.PID != 0 || len(st.Parts) != 0 {
		t.Errorf("%+v", st)
	}
}

func TestAUnitForSystemdIsPrintedAndNothingIsDone(t *testing.T) {
	h := newHost(t)
	cmd := h.command("daemon", "--unit")
	cmd.Env = append(cmd.Env, `XDG_STATE_HOME=/a "b" 100% $x`)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, want := range []string{"c2c.service\n", `ExecStart="` + h.bin + `/c2c" daemon run` + "\n", "Restart=on-failure\n", `Environment="XDG_STATE_HOME=/a \"b\" 100%% $x"` + "\n"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
	if _, err := os.Stat(h.file()); err == nil {
		t.Error("files were made")
	}
}
