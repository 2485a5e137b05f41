package hub

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"c2c/e2e/machines"
	"c2c/relay/nats"
	"c2c/relay/relaytest"
)

var nodeRounds = flag.Int("node-rounds", 0, "how often each node of the cluster is killed; it takes half a minute until mail goes on")

// hubVerb runs c2c relay hub without a terminal, as a program does that sets up machines.
func (s *server) hubVerb(args ...string) error {
	cmd := exec.Command(filepath.Join(os.Getenv("C2C_E2E_BIN"), "c2c"), append([]string{"relay", "hub"}, args...)...)
	cmd.Dir, cmd.Env, cmd.SysProcAttr = filepath.Dir(s.dir), []string{"HOME=" + filepath.Dir(s.dir), "PATH=/usr/bin:/bin"}, &syscall.SysProcAttr{Setsid: true}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("c2c relay hub %q: %w\n%s", args, err, out)
	}
	return nil
}

// change runs c2c relay hub, reads the files that it has written, and has the servers read theirs.
func (s *server) change(nodes []*server, args ...string) {
	s.t.Helper()
	if err := s.hubVerb(args...); err != nil {
		s.t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(s.dir, "hub.json"))
	if err == nil {
		s.hub = nats.Hub{}
		err = json.Unmarshal(data, &s.hub)
	}
	files, _ := filepath.Glob(filepath.Join(s.dir, "host-*.json"))
	for _, file := range append(files, filepath.Join(s.dir, "owner.json")) {
		data, rerr := os.ReadFile(file)
		a, perr := nats.ParseAccess(data)
		err = errors.Join(err, rerr, perr)
		s.seed[a.Host] = a.Seed
	}
	if err != nil {
		s.t.Fatal(err)
	}
	for _, node := range nodes {
		node.reload()
	}
}

// cluster starts three servers with the files of c2c relay hub, as docs/relay.md says. The first
// one stands for all of them.
func cluster(t *testing.T, names ...string) (first *server, nodes []*server) {
	t.Helper()
	t.Parallel() // they wait more than they work
	var urls []string
	for i := range 3 {
		nodes = append(nodes, &server{t: t, path: machines.NATSServer(t), config: fmt.Sprintf("nats-server-%d.conf", i+1),
			dir: filepath.Join(t.TempDir(), "c2c-hub-team"), seed: map[string]string{}, poke: make(chan struct{}, 1)})
		urls = append(urls, "nats://"+machines.FreeAddress(t))
	}
	first = nodes[0]
	first.change(nil, "team", "--hosts", strings.Join(names, ","), "--url", strings.Join(urls, ","))
	for _, s := range nodes {
		s.dir = first.dir
		s.start()
	}
	for _, s := range nodes {
		s.run.Says(t, "metadata leader")
	}
	first.awaitStreams()
	return first, nodes
}

// awaitStreams makes the streams, as soon as the leader of the cluster has heard of all nodes.
// Nothing tells when that is.
func (s *server) awaitStreams() {
	s.t.Helper()
	heard := make(chan struct{})
	go func() {
		for {
			select {
			case heard <- struct{}{}:
				time.Sleep(100 * time.Millisecond)
			case <-s.t.Context().Done():
				return
			}
		}
	}()
	machines.Until(s.t, "the cluster takes streams", func() bool { return s.hubVerb("streams", s.dir) == nil }, heard)
}

// A machine that is added later is as safe as the others, and one that is removed stays removed.
func TestAClusterOfServersIsMadeAsTheDocsSay(t *testing.T) {
	s, nodes := cluster(t, "laptop", "devbox")
	s.change(nodes, "team", "--hosts", "late,lost")
	s.awaitStreams()
	for _, name := range []string{"laptop", "devbox", "late"} {
		var info struct {
			Config nats.StreamConfig
		}
		if s.ask("INFO."+nats.StreamName(name), "", &info); info.Config.Replicas != 3 {
			t.Errorf("the stream of %s has %d replicas", name, info.Config.Replicas)
		}
	}
	laptop, late, lost := relaytest.NewHost(t, "laptop"), relaytest.NewHost(t, "late"), relaytest.NewHost(t, "lost")
	relaytest.Pair(laptop, late)
	relaytest.Pair(laptop, lost)
	s.join(laptop, late, lost)
	for _, h := range []*relaytest.Host{laptop, late, lost} {
		h.Start()
	}
	laptop.Send("late", message(0))
	s.arrived(laptop, late, 1)
	s.change(nodes, "remove", s.dir, "lost")
	s.change(nodes, "team", "--hosts", "another")
	s.await("the removed machine is refused", func() bool {
		st := lost.Carrier.(*nats.Carrier).Status()
		return !st[0].Up && strings.Contains(strings.ToLower(st[0].Error), "authorization")
	})
	laptop.Send("late", message(1))
	s.arrived(laptop, late, 2)
}

// Three nodes keep each stream. One after the other is killed while mail is under way.
func TestMailGoesOnWhileANodeOfTheClusterIsDead(t *testing.T) {
	began := time.Now()
	s, nodes := cluster(t, "laptop", "devbox")
	t.Logf("the cluster has its streams after %v", time.Since(began).Round(time.Millisecond))
	laptop, devbox := relaytest.NewHost(t, "laptop"), relaytest.NewHost(t, "devbox")
	relaytest.Pair(laptop, devbox)
	s.join(laptop, devbox)
	laptop.Start()
	devbox.Start()
	const each = 100
	sent := 0
	send := func() {
		for range each {
			laptop.Send("devbox", message(sent))
			devbox.Send("laptop", message(sent))
			sent++
		}
	}
	send()
	for range *nodeRounds {
		for i, node := range nodes {
			send()
			node.kill()
			send()
			began := time.Now()
			s.arrived(laptop, devbox, sent)
			s.arrived(devbox, laptop, sent)
			t.Logf("node %d is dead: all has arrived after %v", i, time.Since(began).Round(time.Millisecond))
			node.start()
		}
	}
	send()
	s.arrived(laptop, devbox, sent)
	s.arrived(devbox, laptop, sent)
}
