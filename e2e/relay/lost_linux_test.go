package relay

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"c2c/e2e/machines"
)

// send sends numbered messages of a machine's session, and gives what the receiver shall see of
// them.
func send(m *machines.Machine, to, sender string, first, last int) (want []string) {
	for i := first; i <= last; i++ {
		m.Put(to, fmt.Sprint(sender, "-", i), fmt.Sprint(sender, " ", i))
		want = append(want, fmt.Sprintf("amber@laptop: %s %d", sender, i))
	}
	m.C2C("daemon", "want")
	return want
}

// told fails the test unless c2c tells the machine's person so.
func (n *pair) told(m *machines.Machine, words string) {
	n.t.Helper()
	n.Until(fmt.Sprintf("%s is told %q", m.Name, words), func() bool { return strings.Contains(m.Trouble(), words) })
	if out := m.C2C("relay", "status"); !strings.Contains(out, words) {
		n.t.Errorf("c2c relay status on %s does not say %q:\n%s", m.Name, words, out)
	}
}

// drained waits until devbox has all that the laptop has sent, and the laptop knows.
func (n *pair) drained() {
	n.t.Helper()
	n.Until("the receipts come", func() bool { return !n.laptop.Waits("host-devbox") })
}

// Only the keys of the laptop are left, and what was sent after its files were lost.
func TestALostOutboxSwallowsNothingAndBothAreTold(t *testing.T) {
	n := connect(t)
	n.pair()
	want := send(n.laptop, "birch@devbox", "old", 1, 20)
	n.devbox.Expect(want...)
	n.drained()
	n.laptop.C2C("relay", "stop")
	if err := os.RemoveAll(filepath.Join(n.laptop.Home, ".c2c", "repos")); err != nil {
		t.Fatal(err)
	}
	n.laptop.C2C("register", "amber")
	n.laptop.C2C("relay", "start")
	want = send(n.laptop, "birch@devbox", "new", 1, 30) // more than before, and under the old numbers
	n.devbox.Expect(want...)
	n.drained()
	n.told(n.laptop, "this host has lost its record")
	n.told(n.devbox, "it has lost its record")
}

// What devbox had stored since the backup is lost there; all that comes later arrives.
func TestARestoredReceiverIsToldAndSoIsTheSender(t *testing.T) {
	n := connect(t)
	n.pair()
	n.devbox.Expect(send(n.laptop, "birch@devbox", "first", 1, 10)...)
	n.drained()
	n.devbox.C2C("relay", "stop")
	backup := copyOf(t, filepath.Join(n.devbox.Home, ".c2c"))
	n.devbox.C2C("relay", "start")
	n.devbox.Expect(send(n.laptop, "birch@devbox", "second", 1, 10)...)
	n.drained()
	n.devbox.C2C("relay", "stop")
	move(t, filepath.Join(n.devbox.Home, ".c2c"), t.TempDir()+"/broken")
	move(t, backup, filepath.Join(n.devbox.Home, ".c2c"))
	n.devbox.C2C("relay", "start")
	want := send(n.laptop, "birch@devbox", "third", 1, 10)
	n.devbox.Expect(want...)
	n.drained()
	n.told(n.laptop, "was it restored from a backup?")
	n.told(n.devbox, "this host knew less than it had receipts for")
}

// The laptop's home is copied to another machine. Both write to devbox at once, as one host.
func TestACopiedHomeIsToldAndNothingIsSwallowed(t *testing.T) {
	n := connect(t)
	n.pair()
	n.devbox.Expect(send(n.laptop, "birch@devbox", "before", 1, 5)...)
	n.drained()
	n.laptop.C2C("relay", "stop")
	home := filepath.Join(filepath.Dir(n.laptop.Home), "twin")
	run(t, "cp", "-a", n.laptop.Home, home)
	twin := n.Bare("twin", home, filepath.Join(home, "site"))
	twin.SID = "amber"
	n.Point(twin, n.devbox)
	n.laptop.C2C("relay", "start")
	twin.C2C("relay", "start")
	var want []string
	for round := range 2 {
		for _, one := range []*machines.Machine{n.laptop, twin} {
			want = append(want, send(one, "birch@devbox", one.Name, 5*round+1, 5*round+5)...)
			n.Until("the mail of "+one.Name+" arrives", func() bool { return !one.Waits("host-devbox") })
		}
	}
	n.devbox.Expect(want...)
	n.told(n.laptop, "do two machines use this host's key")
	n.told(twin, "do two machines use this host's key")
	n.told(n.devbox, "two machines use its key")
}

func copyOf(t *testing.T, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy")
	run(t, "cp", "-a", dir, to)
	return to
}

func move(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

func run(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
}
