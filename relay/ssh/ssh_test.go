package ssh

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"c2c/internal/atomicfile"
	"c2c/relay"
)

// TestMain is ssh, too: the destination is the path of a socket.
func TestMain(m *testing.M) {
	if os.Getenv("C2C_FAKE_SSH") == "" {
		os.Exit(m.Run())
	}
	dest := os.Args[slices.Index(os.Args, "--")+1]
	fmt.Print(os.Getenv("C2C_FAKE_NOISE"))
	conn, err := net.Dial("unix", dest)
	if err != nil {
		fmt.Fprintln(os.Stderr, "ssh: connect to host devbox port 22: Connection refused")
		os.Exit(255)
	}
	Stdio(conn, os.Stdin, os.Stdout)
}

// machine is a host: its key, those that it knows, and its Carrier.
type machine struct {
	t    *testing.T
	name string
	key  *relay.Key
	list *relay.HostList
	sock string
	*Carrier

	mu      sync.Mutex
	dials   []Dial
	got     chan string // packets
	links   chan string // "devbox up"
	changed chan struct{}
	stop    func()
}

func (m *machine) Packet(_ context.Context, packet []byte) error { m.got <- string(packet); return nil }
func (m *machine) Link(peer string, up bool) {
	m.links <- fmt.Sprintf("%s %t", peer, up)
}

// identity makes a key, and an empty list of hosts.
func identity(tb testing.TB) (*relay.Key, *relay.HostList) {
	tb.Helper()
	key, err := relay.NewKey()
	if err != nil {
		tb.Fatal(err)
	}
	dir, err := atomicfile.Create(filepath.Join(tb.TempDir(), "state"))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { dir.Close() })
	return key, relay.OpenHosts(dir, time.Now)
}

func newMachine(t *testing.T, name string) *machine {
	t.Helper()
	key, list := identity(t)
	m := &machine{t: t, name: name, key: key, list: list, got: make(chan string, 1000), links: make(chan string, 100),
		changed: make(chan struct{}, 100), sock: filepath.Join(t.TempDir(), "s")}
	return m
}

// run starts the Carrier of a machine. It is stopped at the end of the test.
func (m *machine) run() {
	m.t.Helper()
	m.t.Setenv("C2C_FAKE_SSH", "1")
	l, err := net.Listen("unix", m.sock)
	if err != nil {
		m.t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		m.t.Fatal(err)
	}
	m.Carrier = New(Config{Peers: relay.Peers{Key: m.key, List: m.list}, Program: self, Listener: l, Now: time.Now, Dials: func() []Dial { m.mu.Lock(); defer m.mu.Unlock(); return slices.Clone(m.dials) },
		Changed: func() { m.changed <- struct{}{} }})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); m.Run(ctx, m) }()
	m.stop = func() { cancel(); <-done }
	m.t.Cleanup(m.stop)
}

// knows has a machine know another one; dials says that ssh finds it.
func (m *machine) knows(other *machine, dials bool) {
	m.pairs(other.name, other.key)
	if dials {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.dials = append(m.dials, Dial{other.name, other.sock})
	}
}

func (m *machine) pairs(name string, key *relay.Key) {
	m.t.Helper()
	if err := m.list.Add(m.t.Context(), relay.Host{Name: name, Carrier: relay.SSH, Key: key.Public()}); err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) removes(name string) {
	m.t.Helper()
	if err := m.list.Remove(m.t.Context(), name); err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) revokes(name string) {
	m.t.Helper()
	if err := m.list.Revoke(m.t.Context(), name); err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) waitLink(want string) {
	m.t.Helper()
	select {
	case got := <-m.links:
		if got != want {
			m.t.Fatalf("%s: link %q, want %q", m.name, got, want)
		}
	case <-time.After(time.Minute):
		m.t.Fatalf("%s: no link %q", m.name, want)
	}
}

// waitError returns when the status of the only way has an error that contains a text.
func (m *machine) waitError(text string) {
	m.t.Helper()
	for {
		select {
		case <-m.changed:
			if st := m.Status(); len(st) == 1 && !st[0].Up && strings.Contains(st[0].Error, text) {
				return
			}
		case <-time.After(time.Minute):
			m.t.Fatalf("%s: status %+v, want an error with %q", m.name, m.Status(), text)
		}
	}
}

func (m *machine) send(to, packet string) {
	m.t.Helper()
	if err := m.Send(m.t.Context(), to, []byte(packet)); err != nil {
		m.t.Fatalf("%s: send to %s: %v", m.name, to, err)
	}
}

func (m *machine) receive(want string) {
	m.t.Helper()
	select {
	case got := <-m.got:
		if got != want {
			m.t.Fatalf("%s: got %.40q, want %.40q", m.name, got, want)
		}
	case <-time.After(time.Minute):
		m.t.Fatalf("%s: no packet", m.name)
	}
}

// pair is a laptop that dials a devbox.
func pair(t *testing.T) (laptop, devbox *machine) {
	laptop, devbox = newMachine(t, "laptop"), newMachine(t, "devbox")
	laptop.knows(devbox, true)
	devbox.knows(laptop, false)
	return laptop, devbox
}

func TestPacketsGoBothWaysOverOneLink(t *testing.T) {
	t.Setenv("C2C_FAKE_NOISE", "Welcome to devbox!\nand more")
	laptop, devbox := pair(t)
	devbox.run()
	laptop.run()
	laptop.waitLink("devbox true")
	devbox.waitLink("laptop true")
	for i := range 100 {
		laptop.send("devbox", fmt.Sprint("there ", i))
		devbox.send("laptop", fmt.Sprint("back ", i))
	}
	for i := range 100 {
		devbox.receive(fmt.Sprint("there ", i))
		laptop.receive(fmt.Sprint("back ", i))
	}
	large := strings.Repeat("x", relay.MaxPacket)
	laptop.send("devbox", large)
	devbox.receive(large)
	if err := laptop.Send(t.Context(), "devbox", []byte(large+"x")); err == nil || errors.Is(err, relay.ErrAway) {
		t.Errorf("too large: %v", err)
	}
	if err := laptop.Send(t.Context(), "elsewhere", nil); !errors.Is(err, relay.ErrAway) {
		t.Errorf("to an unknown host: %v", err)
	}
	if st := laptop.Status(); len(st) != 1 || !st[0].Up || st[0].Error != "" || st[0].Dest != devbox.sock {
		t.Errorf("status %+v", st)
	}
}

func TestALinkThatWasLostIsMadeAnew(t *testing.T) {
	laptop, devbox := pair(t)
	devbox.run()
	laptop.run()
	laptop.waitLink("devbox true")
	devbox.stop()
	laptop.waitLink("devbox false")
	laptop.waitError("Connection refused")
	if err := laptop.Send(t.Context(), "devbox", []byte("x")); !errors.Is(err, relay.ErrAway) {
		t.Errorf("without a link: %v", err)
	}
	devbox.links = make(chan string, 100)
	devbox.run()
	laptop.waitLink("devbox true")
	laptop.send("devbox", "again")
	devbox.receive("again")
}

// A laptop whose network was cut comes back before the other end has noticed.
func TestANewLinkTakesThePlaceOfADeadOne(t *testing.T) {
	laptop, devbox := pair(t)
	devbox.run()
	laptop.run()
	devbox.waitLink("laptop true")
	other := newMachine(t, "laptop") // the same laptop, with its key
	other.key = laptop.key
	other.knows(devbox, true)
	other.run()
	devbox.waitLink("laptop true")
	other.waitLink("devbox true")
	laptop.waitLink("devbox true")
	laptop.waitLink("devbox false")
	laptop.stop()
	devbox.send("laptop", "to the new one")
	other.receive("to the new one")
}

func TestHostsThatDialEachOtherDoNotEndEachOthersLinks(t *testing.T) {
	laptop, devbox := pair(t)
	devbox.knows(laptop, true)
	devbox.run()
	laptop.run()
	for range 2 {
		laptop.waitLink("devbox true")
		devbox.waitLink("laptop true")
	}
	laptop.send("devbox", "there")
	devbox.send("laptop", "back")
	devbox.receive("there")
	laptop.receive("back")
	select {
	case l := <-laptop.links:
		t.Errorf("link %q", l)
	default:
	}
}

func TestOnlyPairedHostsWithTheirKeyGetALink(t *testing.T) {
	for what, c := range map[string]struct {
		change func(laptop, devbox *machine)
		want   string
	}{
		"not paired": {func(laptop, devbox *machine) { devbox.removes("laptop") }, `the other end refuses this host: "it is not paired"`},
		"revoked":    {func(laptop, devbox *machine) { devbox.revokes("laptop") }, `the other end refuses this host: "it is revoked"`},
		"another host": {func(laptop, devbox *machine) {
			laptop.removes("devbox")
			laptop.pairs("devbox", newMachine(laptop.t, "another").key)
		}, "the other end: it is not paired"},
		"a copied home": {func(laptop, devbox *machine) { devbox.key = laptop.key }, "the key of this very host"},
		"its name is not": {func(laptop, devbox *machine) {
			laptop.removes("devbox")
			laptop.pairs("other", devbox.key)
			laptop.pairs("devbox", newMachine(laptop.t, "another").key)
		}, "it is other, not devbox"},
	} {
		t.Run(what, func(t *testing.T) {
			laptop, devbox := pair(t)
			c.change(laptop, devbox)
			devbox.run()
			laptop.run()
			laptop.waitError(c.want)
		})
	}
}

// Somebody has a key of ssh that opens the socket, and knows the public key of a paired host.
func TestAPublicKeyAloneProvesNothing(t *testing.T) {
	laptop, devbox := pair(t)
	devbox.run()
	conn, err := net.Dial("unix", devbox.sock)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	io.WriteString(conn, magic)
	writeFrame(conn, append(slices.Clone([]byte(laptop.key.Public().SigningKey())), make([]byte, nonceSize)...))
	writeFrame(conn, make([]byte, ed25519.SignatureSize))
	said, err := io.ReadAll(conn) // to its end: it hangs up
	if err != nil || !bytes.Contains(said, []byte(magic)) {
		t.Errorf("%q, %v", said, err)
	}
	if err := devbox.Send(t.Context(), "laptop", []byte("secret")); !errors.Is(err, relay.ErrAway) {
		t.Errorf("it has a link: %v", err)
	}
}

func TestARevokedHostLosesItsLink(t *testing.T) {
	laptop, devbox := pair(t)
	devbox.run()
	laptop.run()
	devbox.waitLink("laptop true")
	devbox.revokes("laptop")
	devbox.Reload()
	devbox.waitLink("laptop false")
	laptop.waitError("it is revoked")
}

func TestAHostThatIsAddedIsDialled(t *testing.T) {
	laptop, devbox := pair(t)
	dials := laptop.dials
	laptop.dials = nil
	devbox.run()
	laptop.run()
	laptop.mu.Lock()
	laptop.dials = dials
	laptop.mu.Unlock()
	laptop.Reload()
	laptop.waitLink("devbox true")
	laptop.mu.Lock()
	laptop.dials = nil
	laptop.mu.Unlock()
	laptop.Reload()
	laptop.waitLink("devbox false")
}

func TestSSHAsksNobodyAndTakesNoOptionForADestination(t *testing.T) {
	args := arguments("/key", "-oProxyCommand=x")
	i := slices.Index(args, "--")
	if i < 0 || args[i+1] != "-oProxyCommand=x" || !slices.Contains(args[:i], "BatchMode=yes") || !slices.Contains(args[:i], "/key") {
		t.Errorf("%q", args)
	}
}

func FuzzGreet(f *testing.F) {
	key, list := identity(f)
	f.Add([]byte(magic + "\x00\x00\x00\x01x"))
	f.Add([]byte("noise\n" + magic))
	f.Fuzz(func(t *testing.T, said []byte) {
		here, there := net.Pipe()
		go io.Copy(io.Discard, there)
		go func() { there.Write(said); there.Close() }()
		c := New(Config{Peers: relay.Peers{Key: key, List: list}, Dials: func() []Dial { return nil }})
		if stood, err := c.serve(context.Background(), here, "", false); stood || err == nil {
			t.Errorf("%q is a host", said)
		}
	})
}
