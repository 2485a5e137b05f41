package ssh

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"c2c/inbox/mail"
	"c2c/relay/relaytest"
)

// wire gives a host a Carrier that listens at a socket, and dials that of another host.
func wire(t *testing.T, h *relaytest.Host, sock string, dials ...Dial) *Carrier {
	t.Helper()
	os.Remove(sock)
	l, err := net.Listen("unix", sock)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := New(Config{Peers: h.Peers(), Program: self, Listener: l, Now: time.Now, Dials: func() []Dial { return dials }})
	h.Carrier = c
	return c
}

// drop ends all links of a Carrier, as a cut cable does: what is under way is lost.
func (c *Carrier) drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range c.ways {
		for _, l := range w.links {
			l.end()
		}
	}
}

func TestMailArrivesOnceAndInOrderThoughLinksAreLost(t *testing.T) {
	t.Setenv("C2C_FAKE_SSH", "1")
	laptop, devbox := relaytest.NewHost(t, "laptop"), relaytest.NewHost(t, "devbox")
	relaytest.Pair(laptop, devbox)
	dir := t.TempDir()
	there, back := filepath.Join(dir, "devbox"), filepath.Join(dir, "laptop")
	devboxWay := wire(t, devbox, there)
	laptopWay := wire(t, laptop, back, Dial{"devbox", there})
	devbox.Start()
	laptop.Start()
	const most = 300
	for i := range most {
		id := fmt.Sprintf("m-%03d", i)
		laptop.Send("devbox", mail.Message{From: "amber", FromSession: "amber", To: "birch", ID: id, Content: id})
		devbox.Send("laptop", mail.Message{From: "birch", FromSession: "birch", To: "cedar", ID: id, Content: id})
		switch i {
		case 50, 200:
			laptopWay.drop()
		case 100:
			devboxWay.drop()
		case 150: // the laptop is started anew
			laptop.Stop()
			laptopWay = wire(t, laptop, back, Dial{"devbox", there})
			laptop.Start()
		}
	}
	for late := time.Now().Add(time.Minute); !laptop.Drained("devbox") || !devbox.Drained("laptop"); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(late) {
			t.Fatalf("mail stays: %+v", laptopWay.Status())
		}
	}
	for _, at := range []struct {
		*relaytest.Host
		alias string
	}{{devbox, "birch"}, {laptop, "cedar"}} {
		got, err := at.Post.Mail(at.alias)
		if err != nil || len(got) != most {
			t.Fatalf("%s has %d messages, %v", at.Name, len(got), err)
		}
		for i, m := range got {
			if want := fmt.Sprintf("m-%03d", i); m.Content != want {
				t.Fatalf("%s: message %d is %s", at.Name, i, m.Content)
			}
		}
	}
}
