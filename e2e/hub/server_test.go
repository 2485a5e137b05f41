package hub

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"c2c/e2e/machines"
	"c2c/relay"
	"c2c/relay/nats"
	"c2c/relay/relaytest"
)

// patience is far longer than anything here takes.
const patience = time.Minute

// server is a nats-server with the configuration that c2c relay hub writes.
type server struct {
	t    *testing.T
	dir  string
	hub  nats.Hub
	seed map[string]string // by host; "" is the owner
	path string

	config  string                     // the name of its configuration; "": nats-server.conf
	edit    func(config string) string // if set, changes each file of the server's configuration
	streams func(all []nats.Stream)    // if set, changes the streams
	poke    chan struct{}              // the state of a link has changed
	watched []string                   // directories of the hosts

	mu  sync.Mutex
	run *machines.Server
}

func newServer(t *testing.T, names ...string) *server {
	t.Helper()
	s := prepare(t, names...)
	s.start()
	s.makeStreams()
	return s
}

// prepare makes a server that does not run.
func prepare(t *testing.T, names ...string) *server {
	t.Helper()
	return prepareIn(t, t.TempDir(), names...)
}

// prepareIn is prepare with a directory for the server's files.
func prepareIn(t *testing.T, dir string, names ...string) *server {
	t.Helper()
	t.Parallel() // they wait more than they work
	s := &server{t: t, path: machines.NATSServer(t), dir: dir, seed: map[string]string{}, poke: make(chan struct{}, 1)}
	addr := machines.FreeAddress(t)
	s.hub = nats.Hub{Fleet: "team", Listen: addr, URL: "nats://" + addr}
	for _, name := range append([]string{""}, names...) {
		seed, public, err := nats.NewSeed()
		if err != nil {
			t.Fatal(err)
		}
		if s.seed[name] = seed; name == "" {
			s.hub.Owner = public
		} else {
			s.hub.Hosts = append(s.hub.Hosts, nats.Member{Name: name, Key: public})
		}
	}
	if err := s.hub.Check(); err != nil {
		t.Fatal(err)
	}
	s.configure()
	return s
}

func (s *server) configure() {
	s.t.Helper()
	files := s.hub.ServerConfig(s.dir, s.seed[""])
	files[nats.HostsFile] = s.hub.HostsConfig()
	for name, text := range files {
		if s.edit != nil {
			text = s.edit(text)
		}
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
			s.t.Fatal(err)
		}
	}
}

func (s *server) start() {
	s.t.Helper()
	run := machines.Serve(s.t, "Server is ready", s.path, "-c", filepath.Join(s.dir, cmp.Or(s.config, "nats-server.conf")))
	s.mu.Lock()
	s.run = run
	s.mu.Unlock()
}

func (s *server) kill() {
	s.mu.Lock()
	run := s.run
	s.mu.Unlock()
	run.Kill()
}

// reload has the server read its configuration again.
func (s *server) reload() {
	s.t.Helper()
	if out, err := exec.Command(s.path, "--signal", fmt.Sprint("reload=", s.run.Pid())).CombinedOutput(); err != nil {
		s.t.Fatalf("reload: %v %s", err, out)
	}
}

// wipe loses the server's whole store.
func (s *server) wipe() {
	s.t.Helper()
	s.kill()
	if err := os.RemoveAll(filepath.Join(s.dir, "jetstream")); err != nil {
		s.t.Fatal(err)
	}
	s.start()
	s.makeStreams()
}

func (s *server) makeStreams() {
	s.t.Helper()
	all := s.hub.Streams()
	if s.streams != nil {
		s.streams(all)
	}
	if err := nats.MakeStreams(s.t.Context(), s.hub.Access("", s.seed[""]), all); err != nil {
		s.t.Fatal(err)
	}
}

// changeStreams gives the running server other streams than those of the hub.
func (s *server) changeStreams(change func(*nats.StreamConfig)) {
	s.t.Helper()
	s.streams = func(all []nats.Stream) {
		for i := range all {
			change(&all[i].Config)
		}
	}
	s.makeStreams()
}

// await returns when so returns true. It looks again whenever a file of a host or a link has
// changed.
func (s *server) await(what string, so func() bool) {
	s.t.Helper()
	machines.Until(s.t, what, so, s.poke, s.watched...)
}

// awaitHeld returns when packets for a host wait in its stream.
func (s *server) awaitHeld(host string) {
	s.t.Helper()
	machines.Until(s.t, "the hub has mail for "+host, func() bool { return s.holds(host) > 0 }, nil, s.dir)
}

func (s *server) changed() {
	select {
	case s.poke <- struct{}{}:
	default:
	}
}

// access is what a host has of the hub, through the form of its file.
func (s *server) access(host string) nats.Access {
	s.t.Helper()
	text, err := s.hub.Access(host, s.seed[host]).Text()
	if err != nil {
		s.t.Fatal(err)
	}
	a, err := nats.ParseAccess(text)
	if err != nil {
		s.t.Fatal(err)
	}
	return a
}

// join gives each host a Carrier to all others.
func (s *server) join(all ...*relaytest.Host) {
	s.t.Helper()
	for _, h := range all {
		var peers []string
		for _, other := range all {
			if other != h {
				peers = append(peers, other.Name)
			}
		}
		hub := nats.New(nats.Config{Access: s.access(h.Name), Peers: func() []string { return peers }, Changed: s.changed, Now: time.Now})
		h.Carrier, h.Way = hub, func(string) relay.Way { return relay.Way{Hub: true} }
		s.watched = append(s.watched, h.Home)
	}
}

// holds says how many packets wait in the stream of a host.
func (s *server) holds(host string) int { return s.state(host).Messages }

// streamState is what waits in a stream.
type streamState struct{ Messages, Bytes int }

func (s *server) state(host string) streamState {
	s.t.Helper()
	var info struct{ State streamState }
	s.ask("INFO."+nats.StreamName(host), "", &info)
	return info.State
}

// lastHello returns the place of the last hello in the stream of a host; 0: there is none.
func (s *server) lastHello(to, from string) int {
	s.t.Helper()
	var hello struct{ Message struct{ Seq int } }
	s.ask("MSG.GET."+nats.StreamName(to), fmt.Sprintf(`{"last_by_subj":"c2c.team.%s.p.%s.>"}`, to, from), &hello)
	return hello.Message.Seq
}

// ask asks the server about a stream, as the owner of the hub.
func (s *server) ask(what, how string, answer any) {
	s.t.Helper()
	c := s.connect("")
	defer c.Close()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	m, err := c.RequestWithContext(ctx, "$JS.API.STREAM."+what, []byte(how))
	if err == nil {
		err = json.Unmarshal(m.Data, answer)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// tempDir is a directory on the disk of the tests' programs, if they have one: the server sets
// aside room for each stream.
func tempDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp(os.Getenv("C2C_E2E_SCRATCH"), "hub-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
