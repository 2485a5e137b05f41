package hub

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	client "github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"c2c/e2e/machines"
	"c2c/inbox/mail"
	"c2c/relay"
	"c2c/relay/cache"
	"c2c/relay/nats"
	"c2c/relay/relaytest"
)

func TestTheCarrierPassesTheSuite(t *testing.T) {
	relaytest.Suite(t, func(t *testing.T, all ...*relaytest.Host) { newServer(t, "laptop", "devbox").join(all...) })
}

func message(n int) mail.Message {
	return mail.Message{From: "amber", FromSession: "amber", To: "birch", ID: fmt.Sprintf("m-%05d", n), Content: fmt.Sprint(n)}
}

// pair is two hosts that run, with a server between them.
func pair(t *testing.T) (s *server, laptop, devbox *relaytest.Host) {
	s = newServer(t, "laptop", "devbox", "other")
	laptop, devbox = relaytest.NewHost(t, "laptop"), relaytest.NewHost(t, "devbox")
	relaytest.Pair(laptop, devbox)
	s.join(laptop, devbox)
	laptop.Start()
	devbox.Start()
	return s, laptop, devbox
}

// arrived returns when nothing waits for the other host, and fails unless birch there has all
// messages once, in their order.
func (s *server) arrived(from, to *relaytest.Host, count int) {
	s.t.Helper()
	s.await("the mail has left "+from.Name, func() bool { return from.Drained(to.Name) })
	got, err := to.Post.Mail("birch")
	if err != nil || len(got) != count {
		s.t.Fatalf("%s has %d messages, %v, want %d", to.Name, len(got), err, count)
	}
	for i, m := range got {
		if want, _, _ := strings.Cut(m.Content, " "); want != fmt.Sprint(i) {
			s.t.Fatalf("%s: message %d is %.20s", to.Name, i, m.Content)
		}
	}
}

// Nothing but the server's store and the files of the hosts survive.
func TestMailArrivesOnceAndInOrderThoughServerAndHostsAreKilled(t *testing.T) {
	s, laptop, devbox := pair(t)
	const most = 600
	for i := range most {
		laptop.Send("devbox", message(i))
		devbox.Send("laptop", message(i))
		switch i % 200 {
		case 50:
			s.kill()
			s.start()
		case 100:
			laptop.Stop()
			laptop.Start()
		case 150:
			devbox.KillAfter(1)
			s.await("devbox is killed", devbox.Killed)
			devbox.Stop()
			devbox.KillAfter(-1)
			devbox.Start()
		}
	}
	s.arrived(laptop, devbox, most)
	s.arrived(devbox, laptop, most)
}

// The hub loses all that it has, with its streams, twice.
func TestNothingIsLostOrDoubledWhenTheStoreIsWipedUnderLoad(t *testing.T) {
	s, laptop, devbox := pair(t)
	const most = 3000
	var senders sync.WaitGroup
	wiped := make(chan struct{})
	for _, from := range []struct {
		*relaytest.Host
		to string
	}{{laptop, "devbox"}, {devbox, "laptop"}} {
		senders.Go(func() {
			for i := range most {
				from.Send(from.to, message(i))
				if i == most/2 {
					<-wiped
				}
			}
		})
	}
	s.wipe()
	close(wiped)
	s.wipe()
	senders.Wait()
	s.wipe()
	s.arrived(laptop, devbox, most)
	s.arrived(devbox, laptop, most)
}

// What was sent while the other host slept is at the hub, though the sender sleeps now.
func TestTwoHostsThatAreNeverAwakeTogetherExchangeMail(t *testing.T) {
	s, laptop, devbox := pair(t)
	devbox.Stop()
	const most = 50
	var all []mail.Message
	for i := range most {
		all = append(all, message(i))
	}
	laptop.Send("devbox", all...)
	s.awaitHeld("devbox")
	laptop.Stop()
	devbox.Start()
	s.await("the mail arrives", func() bool { got, _ := devbox.Post.Mail("birch"); return len(got) == most })
	s.awaitHeld("laptop")
	devbox.Stop()
	laptop.Start()
	s.arrived(laptop, devbox, most)
}

// connect connects as a host, or as the owner, as somebody does who has its file and another
// program.
func (s *server) connect(host string, opts ...client.Option) *client.Conn {
	s.t.Helper()
	pair, err := nkeys.FromSeed([]byte(s.seed[host]))
	if err != nil {
		s.t.Fatal(err)
	}
	public, err := pair.PublicKey()
	if err != nil {
		s.t.Fatal(err)
	}
	inbox := "_INBOX.host." + host
	if host == "" {
		inbox = "_INBOX.owner"
	}
	opts = append([]client.Option{client.Nkey(public, pair.Sign), client.CustomInboxPrefix(inbox)}, opts...)
	c, err := client.Connect(s.hub.URL, opts...)
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

func TestTheHubRefusesWhatAHostHasNoRightTo(t *testing.T) {
	s := newServer(t, "laptop", "devbox", "other")
	complaints := make(chan string, 100)
	c := s.connect("other", client.ErrorHandler(func(_ *client.Conn, _ *client.Subscription, err error) { complaints <- err.Error() }))
	defer c.Close()
	refused := func(what, want string) {
		t.Helper()
		select {
		case got := <-complaints:
			if !strings.Contains(strings.ToLower(got), "permissions violation") || !strings.Contains(got, want) {
				t.Errorf("%s: %s", what, got)
			}
		case <-time.After(patience):
			t.Errorf("%s is allowed", what)
		}
	}
	for what, subject := range map[string]string{
		"to write as another host":            "c2c.team.devbox.m.laptop",
		"to tell another host's sessions":     "c2c.team.devbox.p.laptop.x",
		"to pull another host's mail":         "$JS.API.CONSUMER.MSG.NEXT.C2C_devbox.relay",
		"to read a message of another stream": "$JS.API.STREAM.MSG.GET.C2C_devbox",
		"to read it directly":                 "$JS.API.DIRECT.GET.C2C_devbox",
		"to acknowledge for another host":     "$JS.ACK.C2C_devbox.relay.1.1.1.1.1",
		"the same in the newer form":          "$JS.ACK.d.h.C2C_devbox.relay.1.1.1.1.1",
		"to make a stream":                    "$JS.API.STREAM.CREATE.C2C_other2",
		"to change its own stream":            "$JS.API.STREAM.UPDATE.C2C_other",
		"to purge a stream":                   "$JS.API.STREAM.PURGE.C2C_devbox",
		"to make a consumer":                  "$JS.API.CONSUMER.CREATE.C2C_devbox.mine",
		"to make one the old way":             "$JS.API.CONSUMER.DURABLE.CREATE.C2C_devbox.mine",
		"to list streams":                     "$JS.API.STREAM.NAMES",
		"to write into another inbox":         "_INBOX.host.devbox.mail",
		"another fleet":                       "c2c.others.devbox.m.other",
	} {
		if err := c.Publish(subject, []byte("{}")); err != nil {
			t.Fatal(err)
		}
		refused(what, subject)
	}
	for what, subject := range map[string]string{
		"to listen to all":                ">",
		"to listen to another host":       "c2c.team.devbox.m.*",
		"to listen to mail for itself":    "c2c.team.other.m.*",
		"to listen to another's inbox":    "_INBOX.host.devbox.>",
		"to listen to all inboxes":        "_INBOX.>",
		"to listen to acknowledgements":   "$JS.ACK.>",
		"to listen to what the API hears": "$JS.API.>",
	} {
		if _, err := c.SubscribeSync(subject); err != nil {
			t.Fatal(err)
		}
		refused(what, subject)
	}
	if n := s.holds("devbox"); n != 0 {
		t.Errorf("devbox has %d packets", n)
	}
	m, err := c.RequestWithContext(t.Context(), "c2c.team.devbox.m.other", []byte("x"))
	if err != nil || !strings.Contains(string(m.Data), `"stream":"C2C_devbox"`) {
		t.Errorf("in its own name: %v, %v", m, err)
	}
	if n := s.holds("devbox"); n != 1 {
		t.Errorf("devbox has %d packets, want 1", n)
	}
}

func TestAStrangerIsNotLetIn(t *testing.T) {
	s := newServer(t, "laptop")
	for what, opts := range map[string][]client.Option{"nothing": nil, "a password": {client.UserInfo("laptop", "x")}, "another key": {strangerKey(t)}} {
		if c, err := client.Connect(s.hub.URL, opts...); err == nil {
			c.Close()
			t.Errorf("with %s it is let in", what)
		}
	}
}

func strangerKey(t *testing.T) client.Option {
	t.Helper()
	seed, public, err := nats.NewSeed()
	if err != nil {
		t.Fatal(err)
	}
	pair, err := nkeys.FromSeed([]byte(seed))
	if err != nil {
		t.Fatal(err)
	}
	return client.Nkey(public, pair.Sign)
}

// A host that the owner takes out of the hub loses its connection, and says why; when it is back,
// so is its link.
func TestAHostThatIsTakenOutOfTheHubLosesItsLink(t *testing.T) {
	s, laptop, devbox := pair(t)
	laptop.Send("devbox", message(0))
	s.arrived(laptop, devbox, 1)
	carrier := laptop.Carrier.(*nats.Carrier)
	s.await("the link is up", func() bool { st := carrier.Status(); return len(st) == 1 && st[0].Up && st[0].Error == "" })
	all := s.hub.Hosts
	s.hub.Hosts = all[1:]
	s.configure()
	s.reload()
	s.await("the link is lost", func() bool {
		st := carrier.Status()
		return !st[0].Up && strings.Contains(strings.ToLower(st[0].Error), "authorization")
	})
	if err := carrier.Send(t.Context(), "devbox", nil); err != relay.ErrAway {
		t.Errorf("without a link: %v", err)
	}
	laptop.Send("devbox", message(1))
	s.hub.Hosts = all
	s.configure()
	s.reload()
	s.arrived(laptop, devbox, 2)
}

// A full stream takes no mail. That is told until mail is stored again, although the stream still
// has room for the small packets that the relay sends besides, and the mail waits at its sender.
func TestMailWaitsAtItsSenderWhileTheStreamIsFull(t *testing.T) {
	s, laptop, devbox := pair(t)
	devbox.Stop()
	s.changeStreams(func(c *nats.StreamConfig) { c.MaxBytes = 64 << 10 })
	carrier := laptop.Carrier.(*nats.Carrier)
	isTold := func() bool {
		st := carrier.Status()
		return !st[0].Up && strings.Contains(st[0].Error, "maximum bytes")
	}
	large := message(0)
	large.Content += " " + strings.Repeat("x", 100<<10)
	laptop.Send("devbox", large)
	s.await("it is told", isTold)
	laptop.Relay.Announce([]cache.HeardSession{{Alias: "amber"}})
	machines.Until(t, "a small packet is stored", func() bool { return s.holds("devbox") >= 1 }, nil, s.dir)
	if !isTold() {
		t.Errorf("mail waits, and the status is %+v", carrier.Status())
	}
	s.changeStreams(func(*nats.StreamConfig) {}) // as before
	devbox.Start()
	s.arrived(laptop, devbox, 1)
	s.await("the link is up", func() bool { st := carrier.Status(); return st[0].Up && st[0].Error == "" })
}

// The hosts are never awake at the same time, and the hub has refused a part of the mail when the
// stream was full.
func TestTheHubGetsRefusedMailThoughItsReceiverSleeps(t *testing.T) {
	s, laptop, devbox := pair(t)
	devbox.Stop()
	s.changeStreams(func(c *nats.StreamConfig) { c.MaxBytes = 64 << 10 })
	carrier := laptop.Carrier.(*nats.Carrier)
	const most = 20
	for i := range most {
		m := message(i)
		m.Content += " " + strings.Repeat("x", 10<<10)
		laptop.Send("devbox", m)
	}
	s.await("it is told", func() bool { return strings.Contains(carrier.Status()[0].Error, "maximum bytes") })
	s.changeStreams(func(*nats.StreamConfig) {}) // as before
	s.await("the link is up", func() bool { st := carrier.Status(); return st[0].Up && st[0].Error == "" })
	before := s.lastHello("devbox", "laptop")
	laptop.Relay.Announce([]cache.HeardSession{{Alias: "amber"}})
	machines.Until(t, "what came before the hello is stored", func() bool { return s.lastHello("devbox", "laptop") > before }, nil, s.dir)
	laptop.Stop()
	devbox.Start()
	s.await("all has arrived", func() bool { got, err := devbox.Post.Mail("birch"); return err == nil && len(got) == most })
	laptop.Start()
	s.arrived(laptop, devbox, most)
}

// The hub has stored one message, and refuses the next one each time. The receiver sleeps.
func TestWhatTheHubHasStoredIsNotSentAgain(t *testing.T) {
	s, laptop, devbox := pair(t)
	devbox.Stop()
	s.changeStreams(func(c *nats.StreamConfig) { c.MaxBytes = 150 << 10 })
	const fits = 20 << 10
	small, large := message(0), message(1)
	small.Content += " " + strings.Repeat("x", fits)
	laptop.Send("devbox", small)
	machines.Until(t, "the hub has stored one", func() bool { return s.state("devbox").Bytes >= fits }, nil, s.dir)
	large.Content += " " + strings.Repeat("x", 200<<10)
	laptop.Send("devbox", large)
	carrier := laptop.Carrier.(*nats.Carrier)
	s.await("it is refused", func() bool { return strings.Contains(carrier.Status()[0].Error, "maximum bytes") })
	before := laptop.Steps()["send"]
	s.await("it is tried again", func() bool { return laptop.Steps()["send"] >= before+4 })
	if used := s.state("devbox").Bytes; used < fits || used > 2*fits {
		t.Errorf("the hub has %d bytes", used)
	}
}

// The hub hangs when the mail is sent, and its machine loses power. Then the mail was in no disk
// but the sender's.
func TestTheHubGetsMailThatItLostThoughItsReceiverSleeps(t *testing.T) {
	s, laptop, devbox := pair(t)
	laptop.Send("devbox", message(0))
	s.arrived(laptop, devbox, 1)
	devbox.Stop()
	if err := syscall.Kill(s.run.Pid(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	laptop.Send("devbox", message(1))
	carrier := laptop.Carrier.(*nats.Carrier)
	s.await("the link is lost", func() bool { return !carrier.Status()[0].Up })
	s.kill()
	s.start()
	s.awaitHeld("devbox")
	laptop.Stop()
	devbox.Start()
	s.await("all has arrived", func() bool { got, err := devbox.Post.Mail("birch"); return err == nil && len(got) == 2 })
	laptop.Start()
	s.arrived(laptop, devbox, 2)
}

// Without mail, the hub's answer to a list of sessions shows whether the hub takes anything.
func TestAHelloThatTheHubRefusesIsTold(t *testing.T) {
	s, laptop, devbox := pair(t)
	devbox.Stop()
	s.changeStreams(func(c *nats.StreamConfig) { c.MaxMsgSize = 64 })
	carrier := laptop.Carrier.(*nats.Carrier)
	laptop.Relay.Announce([]cache.HeardSession{{Alias: "amber"}})
	s.await("it is told", func() bool {
		st := carrier.Status()
		return len(st) == 1 && !st[0].Up && strings.Contains(st[0].Error, "message size")
	})
	s.changeStreams(func(*nats.StreamConfig) {}) // as before
	s.await("a hello is stored", func() bool { st := carrier.Status(); return st[0].Up && st[0].Error == "" })
}

// What a host says of its sessions is kept once, however often it says it.
func TestTheHubKeepsTheLastPresenceAlone(t *testing.T) {
	s := newServer(t, "laptop", "devbox")
	c := s.connect("laptop")
	defer c.Close()
	for i := range 20 {
		m := client.NewMsg("c2c.team.devbox.p.laptop.abc")
		m.Header.Set("Nats-Rollup", "sub")
		m.Data = []byte(fmt.Sprint(i))
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		if _, err := c.RequestMsgWithContext(ctx, m); err != nil {
			t.Fatal(err)
		}
		cancel()
	}
	if n := s.holds("devbox"); n != 1 {
		t.Errorf("%d packets are kept", n)
	}
}
