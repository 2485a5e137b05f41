package relay

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"c2c/e2e/machines"
)

// unattended runs a shell command on a machine without a terminal, as a program does that sets up
// machines.
func unattended(m *machines.Machine, command string, args ...string) (string, error) {
	cmd := m.Cmd(nil, "sh", append([]string{"-c", command, "sh"}, args...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// The person of devbox has made an invitation, and is not there any more. Nobody is at the new
// machine, which has an ssh key for devbox.
func TestANewMachineIsPairedWithoutAPerson(t *testing.T) {
	n := connect(t)
	invitation := func(more ...string) string {
		t.Helper()
		out := n.devbox.Person(append([]string{"relay", "pair", "--ssh", "devbox", "--name", "devbox", "--aliases", "*", "--projects", "*"}, more...)...)
		token := regexp.MustCompile("c2c-invitation:[^\r\n]+").FindString(out)
		if token == "" {
			t.Fatalf("no invitation:\n%s", out)
		}
		return token
	}
	const redeem = `c2c relay pair "$1" --yes --name mini --aliases '*' --projects '*' > answer && ssh devbox c2c relay pair - < answer`
	home := t.TempDir()
	mini := n.Bare("mini", home, filepath.Join(home, "site"))
	n.Reach(mini, n.devbox)
	attended, token := invitation(), invitation("--yes")

	for _, c := range []struct {
		machine       *machines.Machine
		command, want string
	}{
		{n.devbox, `c2c relay pair --yes`, "only a person"},
		{n.laptop, `c2c relay pair "$1" --yes`, "only a person"}, // there were agents
		{mini, `c2c relay pair "$1"`, "only a person"},
	} {
		if out, err := unattended(c.machine, c.command, token); err == nil || !strings.Contains(out, c.want) {
			t.Errorf("%s: %s: %v\n%s", c.machine.Name, c.command, err, out)
		}
	}
	if out, err := unattended(n.laptop, `c2c relay add devbox --as devbox --dry-run`); err != nil || !strings.Contains(out, "may write to") {
		t.Errorf("--dry-run changes nothing, and needs no person: %v\n%s", err, out)
	}
	if out, err := unattended(mini, redeem, attended); err == nil || !strings.Contains(out, "only a person") {
		t.Errorf("the person of devbox wanted to be asked: %v\n%s", err, out)
	}
	mini.C2C("relay", "stop")
	if err := os.RemoveAll(filepath.Join(mini.Home, ".c2c")); err != nil { // it is new again
		t.Fatal(err)
	}
	if out, err := unattended(mini, redeem, token); err != nil || !strings.Contains(out, "paired with mini") {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := unattended(n.devbox, `c2c relay pair - < "$1"`, filepath.Join(mini.Project, "answer")); err == nil {
		t.Errorf("the invitation is good for a second answer:\n%s", out)
	}
	mini.SID = "oak"
	mini.Clone("https://example.org/x/site")
	mini.C2C("register", "oak")
	mini.C2C("send", "birch@devbox", "one")
	n.devbox.Expect("oak@mini: one")
}
