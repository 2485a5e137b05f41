package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"c2c/cmd/cli"
	"c2c/e2e/wireagent"
	"c2c/internal/atomicfile"
	"c2c/wake"
	"c2c/wake/wire"
)

// wireVerb makes the test binary the stand-in for an agent.
const wireVerb = "wire-agent"

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == wireVerb {
		if err := wireagent.Run(os.Args[2], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "error:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	code := m.Run()
	if keptBin != "" {
		os.RemoveAll(keptBin)
	}
	os.Exit(code)
}

// wirePlace is somebody who has an agent's mail carried.
type wirePlace struct {
	*keeper
	agent string // the folder of the agent
}

func newWirePlace(t *testing.T, mode string) *wirePlace {
	p := &wirePlace{newKeeper(t), t.TempDir()}
	p.becomes(mode)
	t.Cleanup(func() { p.try("wire-daemon", "stop", "--alias", "amber") })
	return p
}

func (p *wirePlace) becomes(mode string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.agent, "mode"), []byte(mode), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// words is a command line for the daemon of amber.
func (p *wirePlace) words(verb string, more ...string) []string {
	self, err := os.Executable()
	if err != nil {
		p.t.Fatal(err)
	}
	words := append([]string{"wire-daemon", verb, "--alias", "amber"}, more...)
	if verb == "start" || verb == "run" {
		words = append(words, "--", self, wireVerb, p.agent)
	}
	return words
}

func (p *wirePlace) status() (st wireStatus) {
	p.t.Helper()
	out, err := p.try(p.words("status", "--json")...)
	if jerr := json.Unmarshal([]byte(out), &st); jerr != nil {
		p.t.Fatalf("%v: %s", jerr, out)
	}
	p.exits(err, st.PID != 0)
	return st
}

// send writes to amber, who is known from the first run on.
func (p *wirePlace) send(id string) {
	p.t.Helper()
	p.run("send", "--from", "birch", "--id", id, "amber", "the body of "+id)
}

// message is what the disk proves of a message.
func (p *wirePlace) message(id string) (m struct{ State, By string }) {
	p.t.Helper()
	if err := json.Unmarshal([]byte(p.run("status", "--json", id)), &m); err != nil {
		p.t.Fatal(err)
	}
	return m
}

func (p *wirePlace) got() string {
	data, _ := os.ReadFile(filepath.Join(p.agent, "got"))
	return string(data)
}

// until waits for what other processes do.
func (p *wirePlace) until(what string, ok func() bool) {
	p.t.Helper()
	if !comes(time.Minute, ok) {
		said, _ := p.try(p.words("status")...)
		p.t.Fatalf("%s: never; the agent got\n%s\n%s", what, p.got(), said)
	}
}

// comes waits for what other processes do and tell nobody. It is false if that has not come within
// a time.
func comes(within time.Duration, ready func() bool) bool {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(within); !ready(); <-tick.C {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

func (p *wirePlace) known() {
	p.t.Helper()
	p.run("register", "birch", "--session-id", "birch")
	p.run(p.words("run", "--once")...)
}

func TestAWireDaemonCarriesMailUntilItIsStopped(t *testing.T) {
	t.Parallel()
	p := newWirePlace(t, wireagent.Approval)
	p.known()
	if got := p.got(); got != "" {
		t.Errorf("without mail an agent was started:\n%s", got)
	}
	pidFile := filepath.Join(p.home, "amber.pid")
	if out := p.run(p.words("start", "--pidfile", pidFile)...); !strings.Contains(out, "wire daemon of amber runs, process") {
		t.Errorf("start: %s", out)
	}
	first := p.status().PID
	if text, err := os.ReadFile(pidFile); err != nil || string(text) != fmt.Sprintln(first) {
		t.Errorf("pid file %q, %v; process %d", text, err, first)
	}
	if out, err := p.try(p.words("start")...); err == nil || !strings.Contains(out, "runs already") {
		t.Errorf("a second start: %v, %s", err, out)
	}
	p.send("m-1")
	p.until("m-1 is read", func() bool { return p.message("m-1").State == "read" })
	if by := p.message("m-1").By; by != wake.ByWire {
		t.Errorf("read by %q", by)
	}
	p.until("its turn is over, and the ring is recorded", func() bool { // in either order
		st := p.status()
		return st.State.Agent == wire.Idle && st.LastRing.Outcome == wake.Rang
	})
	if st := p.status(); !strings.HasSuffix(st.State.Approval, ": reject") || st.Waiting != 0 {
		t.Errorf("status %+v", st)
	}
	before := p.status().State.At
	p.run(p.words("restart")...)
	p.until("the second one has recorded its agent's state", func() bool { return p.status().State.At.After(before) })
	second := p.status()
	if second.PID == 0 || second.PID == first || second.PIDFile != pidFile {
		t.Errorf("after restart: %+v", second)
	}
	if out := p.run("wire-daemon", "list"); !strings.Contains(out, fmt.Sprintf("amber: wire daemon runs, process %d\n", second.PID)) {
		t.Errorf("list:\n%s", out)
	}
	if out := p.run("list"); !strings.Contains(out, "alive") {
		t.Errorf("the session is not alive:\n%s", out)
	}
	kept := filepath.Join(p.root(), wireDir, "amber.json")
	if err := os.WriteFile(kept, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := p.try(p.words("restart")...); err == nil || !strings.Contains(out, "say after --") || p.status().PID != second.PID {
		t.Errorf("restart with a damaged file: %v, %s, %+v", err, out, p.status())
	}
	p.run(p.words("stop")...)
	if st := p.status(); st.PID != 0 || st.State.Agent != wire.Off {
		t.Errorf("after stop: %+v", st)
	}
	if _, err := os.Stat(pidFile); err == nil {
		t.Error("the pid file stays")
	}
	if n := strings.Count(p.got(), "the body of m-1"); n != 1 {
		t.Errorf("the agents were given m-1 %d times:\n%s", n, p.got())
	}
}

func TestABridgeKilledBetweenDrainAndPromptDeliversOnceAfterwards(t *testing.T) {
	t.Parallel()
	p := newWirePlace(t, "")
	p.known()
	p.run(p.words("start")...)
	p.becomes(wireagent.Mute)
	p.send("m-1")
	p.until("the agent is asked", func() bool { return strings.Count(p.got(), `"initialize"`) == 2 }) // start has tried one
	if m, st := p.message("m-1"), p.status(); m.State != "handed" || st.Waiting != 0 || st.Handed != 1 {
		t.Errorf("in its hands: %+v, %+v", m, st)
	}
	if err := syscall.Kill(p.status().PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	p.until("it is gone", func() bool { return p.status().PID == 0 })
	if out := p.run("doctor", "--verbose"); !strings.Contains(out, "wire daemon of amber: the daemon was killed, and mail waits (1): c2c wire-daemon --alias amber restart") {
		t.Errorf("doctor:\n%s", out)
	}
	if st, m := p.status(), p.message("m-1"); st.Waiting != 1 || st.Handed != 0 || st.State.Agent != wire.Off || m.State != "queued" && m.State != "rung" {
		t.Errorf("after the kill: %+v, %+v", st, m)
	}
	p.becomes("")
	p.run(p.words("restart")...)
	p.until("m-1 is read", func() bool { return p.message("m-1").State == "read" })
	if out := p.run("doctor", "--verbose"); strings.Contains(out, "it was killed") {
		t.Errorf("doctor:\n%s", out)
	}
	if n := strings.Count(p.got(), "the body of m-1"); n != 1 {
		t.Errorf("the agents were given m-1 %d times:\n%s", n, p.got())
	}
}

func TestWhatAnAgentDoesNotTakeIsToldByStatusAndWaits(t *testing.T) {
	t.Parallel()
	p := newWirePlace(t, "")
	p.known()
	p.send("m-1")
	for mode, cause := range map[string]string{
		wireagent.NoModel: "the agent has no model",
		wireagent.Exits:   "the agent ended, exit status 1: error: unknown option '--wire'",
		wireagent.Busy:    "the agent refused",
		wireagent.Dies:    "the agent ended, exit status 1: error: it broke",
		wireagent.Broken:  "the agent's model failed",
		wireagent.Cancels: "the agent's turn was cancelled",
		wireagent.Stopped: "the agent ended its turn and did not ask its model",
		wireagent.Future:  "the agent speaks version",
	} {
		p.becomes(mode)
		if out, err := p.try(p.words("run", "--once")...); err == nil || !strings.Contains(out, cause) {
			t.Errorf("%s: %v, %s", mode, err, out)
		}
		st := p.status()
		if st.State.Agent != wire.Failed || !strings.HasPrefix(st.State.Cause, cause) || st.Waiting != 1 {
			t.Errorf("%s: %+v", mode, st)
		}
		if out := p.run("status", "m-1"); !strings.Contains(out, cause) {
			t.Errorf("%s: its sender is told:\n%s", mode, out)
		}
	}
	p.becomes("")
	p.run("send", "--from", "birch", "--id", "m-2", "amber", strings.Repeat("long ", 20_000)) // more than is given at once
	p.send("m-3")
	p.run(p.words("run", "--once")...)
	if m := p.message("m-3"); m.State != "read" {
		t.Errorf("%+v", m)
	}
	if m := p.message("m-1"); m.State != "read" || p.status().State.Agent != wire.Off {
		t.Errorf("%+v, %+v", m, p.status())
	}
}

func TestWhatIsNoWireAgentIsToldAtStart(t *testing.T) {
	t.Parallel()
	p := newWirePlace(t, wireagent.Exits)
	out, err := p.try(p.words("start")...)
	for _, want := range []string{"did not start", "unknown option '--wire'", "must be an agent that speaks Wire"} {
		if err == nil || !strings.Contains(out, want) {
			t.Errorf("%v, without %q:\n%s", err, want, out)
		}
	}
	if out := p.run("wire-daemon", "list"); !strings.Contains(out, "no wire daemon was started here") {
		t.Errorf("it is a daemon:\n%s", out)
	}
	if out := p.run("list"); !strings.HasPrefix(out, "(no sessions") {
		t.Errorf("it is a session:\n%s", out)
	}
}

func TestWhoLooksForWireDaemonsMakesNothing(t *testing.T) {
	t.Parallel()
	p := newWirePlace(t, "")
	p.run("register", "birch", "--session-id", "birch")
	for verb, want := range map[string]string{"status": "amber: no wire daemon runs", "stop": "no wire daemon of amber runs"} {
		if out, err := p.try(p.words(verb)...); !strings.Contains(out, want) || (exitOf(err) == cli.Nothing) != (verb == "status") {
			t.Errorf("%s: %v %s", verb, err, out)
		}
	}
	if out := p.run("wire-daemon", "list"); !strings.Contains(out, "no wire daemon was started here") {
		t.Errorf("list: %q", out)
	}
	if out := p.run("wire-daemon", "list", "--json"); out != "[]\n" {
		t.Errorf("list --json: %q", out)
	}
	p.try("doctor", "--verbose") // it finds no client
	if _, err := os.Stat(filepath.Join(p.root(), wireDir)); err == nil {
		t.Error("a directory was made")
	}
}

func TestAWireDaemonTakesNobodysAlias(t *testing.T) {
	t.Parallel()
	p := newWirePlace(t, "")
	p.run("register", "amber", "--session-id", "amber")
	root, err := atomicfile.Open(p.root())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	serves, err := atomicfile.Acquire(t.Context(), root, "amber.server.lock")
	if err != nil {
		t.Fatal(err)
	}
	defer serves.Release()
	if out, err := p.try(p.words("start")...); err == nil || !strings.Contains(out, `"amber" is alive already`) {
		t.Errorf("%v, %s", err, out)
	}
	if _, err := p.try("wire-daemon", "start"); err == nil {
		t.Error("started without an alias")
	}
}
