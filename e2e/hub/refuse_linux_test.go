package hub

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"c2c/e2e/machines"
	"c2c/relay"
)

const project = "https://example.org/x/site"

// dropped is what a machine's relay has written of packets that it has refused.
func dropped(m *machines.Machine) int {
	log, _ := os.ReadFile(filepath.Join(m.Home, ".c2c", "daemon", "daemon.log"))
	return strings.Count(string(log), "packets were dropped")
}

// A hub lets in whom it likes. Each host decides for itself: a third host, one that has stolen the
// name of a paired one, one that it has revoked while it was offline and the hub does not know.
func TestAHostRefusesWhomTheHubLetsIn(t *testing.T) {
	t.Parallel()
	n := machines.New(t, tempDir(t), os.Getenv("C2C_E2E_BIN"))
	laptop, devbox, mallory := n.Machine("laptop", "amber", project), n.Machine("devbox", "birch", project), n.Machine("mallory", "oak", project)
	n.Pair(laptop, devbox)
	hub := n.Hub("laptop", "devbox", "mallory")
	hub.Join(laptop, "laptop")
	hub.Join(devbox, "devbox")
	laptop.C2C("send", "--id", "m-1", "birch@devbox", "one")
	devbox.Expect("amber@laptop: one")
	n.Until("the receipt comes", func() bool { return !laptop.Waits("host-devbox") })

	mallory.Knows(devbox, relay.NATS)
	for i, name := range []string{"mallory", "laptop"} {
		hub.Join(mallory, name)
		mallory.C2C("send", "--id", "x-"+name, "birch@devbox", "let me in")
		n.Until("devbox refuses it", func() bool { return dropped(devbox) > i })
		if out := mallory.C2C("status", "x-"+name); !strings.HasPrefix(out, "x-"+name+": queued") {
			t.Errorf("as %s status says %q", name, out)
		}
	}
	mallory.C2C("relay", "stop")

	laptop.C2C("relay", "stop")
	devbox.Person("relay", "revoke", "laptop")
	laptop.C2C("send", "--id", "m-2", "birch@devbox", "two")
	laptop.C2C("relay", "start")
	n.Until("the laptop is told", func() bool { return strings.Contains(laptop.Trouble(), "it takes no mail of this host any more") })
	if out := laptop.C2C("status", "m-2"); !strings.HasPrefix(out, "m-2: queued") || !strings.Contains(out, "it takes no mail of this host any more") {
		t.Errorf("status says %q", out)
	}
	if got := devbox.Received(); len(got) > 0 {
		t.Errorf("devbox has received %q", got)
	}
}
