package hub

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"c2c/relay/nats"
	"c2c/relay/relaytest"
)

// patience is far longer than anything here takes.
const patience = time.Minute

// program finds the nats-server that scripts/e2e-install.sh has built.
func program(t *testing.T) string {
	t.Helper()
	for _, dir := range filepath.SplitList(os.Getenv("C2C_E2E_TOOLS")) {
		path := filepath.Join(dir, "nats-server")
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
	}
	t.Fatal("there is no nats-server in C2C_E2E_TOOLS: run scripts/e2e.sh ./e2e/hub")
	return ""
}

// server is a nats-server with the configuration that c2c relay hub writes.
type server struct {
	t    *testing.T
	dir  string
	hub  nats.Hub
	seed map[string]string // by host; "" is the owner
	path string

	mu  sync.Mutex
	cmd *exec.Cmd
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func newServer(t *testing.T, names ...string) *server {
	t.Helper()
	s := &server{t: t, path: program(t), dir: t.TempDir(), seed: map[string]string{}}
	addr := freeAddress(t)
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
	t.Cleanup(s.kill)
	s.start()
	s.makeStreams()
	return s
}

func (s *server) configure() {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, "nats-server.conf"), []byte(s.hub.ServerConfig(s.dir)), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

func (s *server) start() {
	s.t.Helper()
	logFile, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		s.t.Fatal(err)
	}
	defer logFile.Close()
	cmd := exec.Command(s.path, "-c", filepath.Join(s.dir, "nats-server.conf"))
	cmd.Stdout, cmd.Stderr = logFile, logFile
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.mu.Lock()
	s.cmd = cmd
	s.mu.Unlock()
	for late := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		conn, err := net.Dial("tcp", s.hub.Listen)
		if err == nil {
			conn.Close()
			return
		}
		if time.Now().After(late) {
			said, _ := os.ReadFile(filepath.Join(s.dir, "log"))
			s.t.Fatalf("no nats-server: %s", said)
		}
	}
}

func (s *server) kill() {
	s.mu.Lock()
	cmd := s.cmd
	s.cmd = nil
	s.mu.Unlock()
	if cmd != nil {
		cmd.Process.Kill()
		cmd.Wait()
	}
}

// reload has the server read its configuration again.
func (s *server) reload() {
	s.t.Helper()
	if out, err := exec.Command(s.path, "--signal", fmt.Sprint("reload=", s.cmd.Process.Pid)).CombinedOutput(); err != nil {
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
	var err error
	for late := time.Now().Add(patience); time.Now().Before(late); time.Sleep(20 * time.Millisecond) { // it may answer before its store is ready
		if err = nats.MakeStreams(s.t.Context(), s.hub.Access("", s.seed[""]), s.hub.Streams()); err == nil {
			return
		}
	}
	s.t.Fatal(err)
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
		h.Carrier = nats.New(nats.Config{Access: s.access(h.Name), Peers: func() []string { return peers }, Now: time.Now})
	}
}

// holds says how many packets wait in the stream of a host.
func (s *server) holds(host string) (count int) {
	s.t.Helper()
	c := s.connect("")
	defer c.Close()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	m, err := c.RequestWithContext(ctx, "$JS.API.STREAM.INFO."+nats.StreamName(host), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	var info struct {
		State struct{ Messages int } `json:"state"`
	}
	if err := json.Unmarshal(m.Data, &info); err != nil {
		s.t.Fatal(err)
	}
	return info.State.Messages
}
