package ssh

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"c2c/inbox/mail"
	"c2c/relay"
	"c2c/relay/relaytest"
)

// wire makes a Carrier for a host. It listens at a socket, and dials those of other hosts.
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
	return New(Config{Peers: h.Peers(), Program: self, Listener: l, Now: time.Now, Dials: func() []Dial { return dials }})
}

// renewed is a Carrier that may run several times: each time it is a new one.
type renewed struct {
	anew func() *Carrier
	mu   sync.Mutex
	now  *Carrier
}

func (r *renewed) Run(ctx context.Context, h relay.Handler) error {
	c := r.anew()
	r.mu.Lock()
	r.now = c
	r.mu.Unlock()
	return c.Run(ctx, h)
}

func (r *renewed) Send(ctx context.Context, peer string, packet []byte) error {
	r.mu.Lock()
	c := r.now
	r.mu.Unlock()
	if c == nil {
		return relay.ErrAway
	}
	return c.Send(ctx, peer, packet)
}

// Each host dials the other, so that a host that is started again has a link at once.
func TestTheCarrierPassesTheSuite(t *testing.T) {
	t.Setenv("C2C_FAKE_SSH", "1")
	relaytest.Suite(t, func(t *testing.T, all ...*relaytest.Host) {
		dir := t.TempDir()
		for _, h := range all {
			var dials []Dial
			for _, other := range all {
				if other != h {
					dials = append(dials, Dial{other.Name, filepath.Join(dir, other.Name)})
				}
			}
			h.Carrier = &renewed{anew: func() *Carrier { return wire(t, h, filepath.Join(dir, h.Name), dials...) }}
		}
	})
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
	devbox.Carrier, laptop.Carrier = devboxWay, laptopWay
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
			laptop.Carrier = laptopWay
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
