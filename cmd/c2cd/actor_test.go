package main

import (
	"bufio"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"c2c/broker"
	"c2c/sessions/callers"
)

// While amber's client runs, a command that another program runs with --from amber changes no
// claim, answers nothing, and does not say that amber is done. What amber's client runs does, and
// what amber has left behind can be given up when its client has ended.
func TestWhatIsOnlyClaimedEndsNothing(t *testing.T) {
	t.Parallel()
	k := newKeeper(t)
	k.run("register", "birch", "--session-id", "birch")
	client := exec.Command("sh")
	client.Dir, client.Env = k.home, k.env()
	in, err := client.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := client.StdoutPipe()
	if err == nil {
		err = client.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer client.Process.Kill()
	b, err := broker.Open(broker.Config{Root: k.root()})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if _, err := b.Register(t.Context(), callers.Caller{Explicit: "amber", Client: "claude", PID: client.Process.Pid}, "amber"); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	amber := func(command string) (said string) {
		fmt.Fprintf(in, "%s 2>&1; echo; echo end of it\n", command)
		for lines.Scan() && lines.Text() != "end of it" {
			said += lines.Text() + "\n"
		}
		return strings.TrimSuffix(said, "\n")
	}
	refused := func(args ...string) {
		t.Helper()
		if out, err := k.try(append(args, "--from", "amber")...); err == nil || !strings.Contains(out, "only amber may do this in its own name") {
			t.Errorf("%q: %v %s", args, err, out)
		}
	}
	k.run("send", "amber", "precious", "--from", "birch")
	refused("poll-inbox")
	if out := amber("c2c poll-inbox --from amber"); !strings.Contains(out, "precious") {
		t.Errorf("its own shell reads %s", out)
	}
	if out := amber("c2c claim --task docs --from amber"); out != "claimed docs\n" {
		t.Fatal(out)
	}
	refused("release")
	refused("claim", "--task", "docs", "--why", "mallory")
	if out := k.run("claims"); out != "amber: docs\n" {
		t.Errorf("claims: %s", out)
	}

	k.run("send", "amber", "ready?", "--kind", "question", "--id", "q-1", "--from", "birch")
	k.run("notify", "amber", "--when", "done", "--from", "birch")
	if out := amber("c2c poll-inbox"); !strings.Contains(out, "ready?") {
		t.Fatal(out)
	}
	if out := amber("c2c obligations"); !strings.Contains(out, "question of birch (claimed), due in") {
		t.Errorf("amber owes %s", out)
	}
	refused("reply", "q-1", "never", "--done")
	refused("send", "birch", "never", "--reply-to", "q-1")
	if out := k.run("poll-inbox", "--from", "birch"); out != "(no messages)\n" {
		t.Errorf("birch has %s", out)
	}
	if out := k.run("obligations", "--from", "birch"); !strings.Contains(out, "question to amber, due in") {
		t.Errorf("birch is owed %s", out)
	}
	k.run("send", "birch", "never mind", "--from", "amber") // this answers nothing, so it is sent
	if out := k.run("search", "never", "--from", "birch"); !strings.Contains(out, "amber (claimed) to birch") {
		t.Errorf("birch finds %s", out)
	}

	if out := amber("c2c reply q-1 yes --done"); !strings.HasPrefix(out, "queued for birch") {
		t.Fatal(out)
	}
	if out := k.run("poll-inbox", "--from", "birch"); !strings.Contains(out, `from="amber" by="claimed"`) || !strings.Contains(out, `from="amber" by="process"`) || strings.Count(out, "amber says that it is done") != 1 {
		t.Errorf("birch has %s", out)
	}
	if out := k.run("obligations", "--all", "--from", "birch"); !strings.Contains(out, "question to amber, answered") {
		t.Errorf("birch is owed %s", out)
	}
	in.Close()
	client.Wait()
	if out := k.run("release", "--from", "amber"); out != "released docs\n" {
		t.Errorf("release: %s", out)
	}
	if out := k.run("reply", "q-1", "yes again", "--from", "amber"); !strings.HasPrefix(out, "queued for birch") {
		t.Errorf("reply: %s", out)
	}
}
