package relay

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"c2c/e2e/lab"
	"c2c/e2e/machines"
	"c2c/internal/atomicfile"
	"c2c/relay"
	"c2c/relay/cache"
)

// Where c2c and c2cd are built before the tests are cut off from the machine.
const binEnv = "C2C_RELAY_BIN"

// TestMain runs the tests as root of namespaces of their own: with loopback alone, and an empty
// /tmp.
func TestMain(m *testing.M) {
	if dir := os.Getenv(middleEnv); dir != "" {
		os.Exit(inTheMiddle(dir))
	}
	if !machines.Possible() { // each test says what is missing
		os.Exit(m.Run())
	}
	bin := os.Getenv(binEnv)
	if bin == "" {
		var err error
		if bin, err = os.MkdirTemp("", "c2c-relay"); err != nil {
			panic(err)
		}
		if out, err := exec.Command("go", "build", "-o", bin+"/", "c2c/cmd/c2c", "c2c/cmd/c2cd").CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build c2c: %v\n%s", err, out)
			os.Exit(1)
		}
		os.Setenv(binEnv, bin)
	}
	status, isolated, err := lab.Isolate(bin)
	if err != nil {
		fmt.Fprintln(os.Stderr, "relay:", err)
	}
	if isolated {
		os.Exit(m.Run())
	}
	os.RemoveAll(bin)
	os.Exit(status)
}

// pair is two machines. The laptop's person has a key of ssh for devbox; nobody has one for the
// laptop.
type pair struct {
	*machines.Net
	t              *testing.T
	laptop, devbox *machines.Machine
}

func connect(t *testing.T) *pair {
	t.Helper()
	t.Parallel() // they wait more than they work
	n := &pair{Net: machines.New(t, t.TempDir(), os.Getenv(binEnv)), t: t}
	n.laptop, n.devbox = n.Machine("laptop", "amber", "https://example.org/x/site"), n.Machine("devbox", "birch", "https://example.org/x/site.git")
	n.Reach(n.laptop, n.devbox)
	return n
}

func (n *pair) pair() {
	n.t.Helper()
	n.Pair(n.laptop, n.devbox)
}

func TestTwoMachinesArePairedByOneCommandAndExchangeMail(t *testing.T) {
	n := connect(t)
	before, _ := os.ReadFile(n.devbox.Authorized())
	for _, c := range []struct{ answer, more string }{{"no", "--json"}, {"", "--dry-run"}} {
		out, err := n.laptop.Typed(c.answer, "relay", "add", "devbox", "--as", "devbox", c.more)
		if (err == nil) != (c.more == "--dry-run") || !strings.Contains(out, `restrict,command="`+os.Getenv(binEnv)+`/c2cd relay --stdio" ssh-ed25519 `) {
			t.Errorf("%s: %v\n%s", c.more, err, out)
		}
	}
	if now, _ := os.ReadFile(n.devbox.Authorized()); string(now) != string(before) || !strings.Contains(n.laptop.C2C("relay", "list"), "no other machine") {
		t.Errorf("without a yes authorized_keys is\n%s", now)
	}
	n.pair()
	n.laptop.C2C("send", "--id", "m-1", "birch@devbox", "Is the build green?")
	n.devbox.Expect("amber@laptop: Is the build green?")
	n.devbox.C2C("reply", "m-1", "It is.")
	n.laptop.Expect("birch@devbox: It is.")
	n.Until("the receipts come", func() bool { return !n.laptop.Waits("host-devbox") && !n.devbox.Waits("host-laptop") })
	n.Until("the laptop hears that its message was read", func() bool {
		dir := n.laptop.Root()
		defer dir.Close()
		states, err := statesOf(dir, "devbox", "m-1")
		host, herr := cache.HeardFrom(dir, "devbox")
		return err == nil && herr == nil && len(states) > 0 && states[len(states)-1].What == "read" && host.Linked &&
			slices.ContainsFunc(host.Sessions, func(s cache.HeardSession) bool { return s.Alias == "birch" })
	})
	n.Until("devbox shows that its answer was read", func() bool { return strings.Contains(n.devbox.C2C("outbox"), "  read ") })
	for _, m := range []*machines.Machine{n.laptop, n.devbox} {
		if out := m.C2C("relay", "status"); !strings.Contains(out, "linked for") {
			t.Errorf("%s: %s", m.Name, out)
		}
	}
	// The key of the relay opens nothing else there.
	said, err := n.laptop.Cmd(nil, "ssh", "-i", n.laptop.Home+"/.c2c/relay/ssh_key", "-o", "IdentitiesOnly=yes", "-o", "IdentityFile=none", "-o", "BatchMode=yes", "devbox", "cat", n.devbox.Authorized()).CombinedOutput()
	if bytes.Contains(said, []byte("ssh-ed25519 ")) {
		t.Errorf("it runs another command: %v\n%s", err, said)
	}
}

func TestAnUnknownAliasIsRefusedAndTheOthersArrive(t *testing.T) {
	n := connect(t)
	n.pair()
	n.laptop.Put("birch@devbox", "m-1", "one")
	n.laptop.Put("nobody@devbox", "m-2", "two")
	n.laptop.Put("birch@devbox", "m-3", "three")
	n.laptop.C2C("daemon", "want")
	n.devbox.Expect("amber@laptop: one", "amber@laptop: three")
	n.laptop.Expect(`c2c-system: devbox has not stored "two" (m-2): no session there has this alias. It is not sent again.`)
}

func TestMailForAProjectThatNobodyHasOpenedThereWaits(t *testing.T) {
	n := connect(t)
	n.pair()
	n.laptop.Remote("https://example.org/x/shop")
	if err := os.RemoveAll(filepath.Join(n.laptop.Home, ".c2c", "repos")); err != nil {
		t.Fatal(err)
	}
	n.laptop.C2C("register", "amber")
	n.laptop.C2C("send", "--id", "m-1", "birch@devbox", "one")
	n.Until("the laptop hears that devbox has no such project", func() bool {
		return strings.Contains(n.laptop.C2C("status", "m-1"), "nobody has used c2c in this project there yet")
	})
	n.devbox.Remote("https://example.org/x/shop")
	n.devbox.C2C("register", "birch")
	n.devbox.Expect("amber@laptop: one")
	n.laptop.Put("birch@devbox", "m-2", "two")
	n.laptop.C2C("daemon", "want")
	n.devbox.Expect("amber@laptop: two")
	if h, err := cache.HeardFrom(n.laptop.Root(), "devbox"); err != nil || h.Trouble != "" || h.Absent {
		t.Errorf("%+v, %v", h, err)
	}
}

func TestMailWaitsWhileTheCableIsOutAndNothingComesTwice(t *testing.T) {
	n := connect(t)
	n.pair()
	n.laptop.Put("birch@devbox", "m-0", "0")
	n.laptop.C2C("daemon", "want")
	n.devbox.Expect("amber@laptop: 0")
	n.laptop.Cut(true)
	var want, back []string
	for i := range 30 {
		n.laptop.Put("birch@devbox", fmt.Sprint("there-", i), fmt.Sprint(i))
		n.devbox.Put("amber@laptop", fmt.Sprint("back-", i), fmt.Sprint(i))
		want, back = append(want, fmt.Sprintf("amber@laptop: %d", i)), append(back, fmt.Sprintf("birch@devbox: %d", i))
	}
	n.laptop.C2C("daemon", "want")
	n.devbox.C2C("daemon", "want")
	n.laptop.Cut(false)
	n.devbox.Expect(want...)
	n.laptop.Expect(back...)
}

func TestARelayThatIsKilledLosesAndRepeatsNothing(t *testing.T) {
	n := connect(t)
	n.pair()
	var want []string
	for i := range 40 {
		n.laptop.Put("birch@devbox", fmt.Sprint("m-", i), fmt.Sprint(i))
		want = append(want, fmt.Sprintf("amber@laptop: %d", i))
		if i%10 == 5 {
			m := []*machines.Machine{n.laptop, n.devbox}[i/10%2]
			n.Until("it runs", func() bool { return m.Relay() != 0 })
			m.KillRelay()
		}
		n.laptop.C2C("daemon", "want") // what every send does: the relay is started again
	}
	n.devbox.Expect(want...)
	n.Until("the receipts come", func() bool { return !n.laptop.Waits("host-devbox") })
}

func TestMailWaitsForARelayThatWasStopped(t *testing.T) {
	n := connect(t)
	n.pair()
	n.laptop.C2C("relay", "stop")
	out := n.laptop.C2C("send", "birch@devbox", "one")
	if !strings.HasSuffix(out, "; the relay was stopped, so it waits until you run c2c relay start\n") || !strings.HasPrefix(out, "queued for birch@devbox as ") {
		t.Errorf("send says %q", out)
	}
	n.laptop.C2C("relay", "start")
	n.devbox.Expect("amber@laptop: one")
}

func TestARevokedMachineIsCutOffAtOnce(t *testing.T) {
	n := connect(t)
	n.pair()
	if out, err := n.devbox.Typed("", "relay", "revoke", "laptop"); err != nil || !strings.Contains(out, "authorized_keys") {
		t.Fatalf("%v\n%s", err, out)
	}
	if keys, _ := os.ReadFile(n.devbox.Authorized()); strings.Contains(string(keys), "c2c-relay") {
		t.Errorf("its ssh key is still there:\n%s", keys)
	}
	n.laptop.Linked("devbox", false)
	n.laptop.Put("birch@devbox", "m-1", "one")
	n.laptop.C2C("daemon", "want")
	if got := n.devbox.Received(); len(got) > 0 {
		t.Errorf("received %q", got)
	}
	if out, err := n.laptop.Typed("yes", "relay", "add", "devbox", "--as", "devbox", "--name", "laptop"); err == nil || !strings.Contains(out, "revoked") {
		t.Errorf("paired again: %v\n%s", err, out)
	}
}

// Who has stolen the relay's key for ssh gets as far as the relay, which knows hosts by keys of
// their own.
func TestAStolenKeyOfSSHBringsNoMail(t *testing.T) {
	n := connect(t)
	n.pair()
	mallory := n.Machine("mallory", "oak", "https://example.org/x/site")
	n.Point(mallory, n.devbox)
	mallory.Knows(n.devbox, relay.SSH)
	for _, name := range []string{"ssh_key", "ssh_key.pub"} {
		data, err := os.ReadFile(filepath.Join(n.laptop.Home, ".c2c", "relay", name))
		if err == nil {
			err = os.WriteFile(filepath.Join(mallory.Home, ".c2c", "relay", name), data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	mallory.C2C("send", "--id", "m-1", "birch@devbox", "one")
	n.Until("it is refused", func() bool {
		out, _ := mallory.Cmd(nil, "c2c", "relay", "status").CombinedOutput()
		return strings.Contains(string(out), `the other end refuses this host: "it is not paired"`)
	})
	if out := mallory.C2C("status", "m-1"); !strings.HasPrefix(out, "m-1: queued") {
		t.Errorf("status says %q", out)
	}
	if got := n.devbox.Received(); len(got) > 0 {
		t.Errorf("received %q", got)
	}
}

// statesOf gives the reported states of a message.
func statesOf(root *atomicfile.Dir, peer, id string) ([]cache.HeardState, error) {
	all, err := cache.ReadHeardReports(root, peer)
	return all.Of(id), err
}
