package hub

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"c2c/e2e/machines"
	"c2c/relay/nats"
	"c2c/relay/relaytest"
)

var nodeRounds = flag.Int("node-rounds", 0, "how often each node of the cluster is killed; it takes half a minute until mail goes on")

// cluster starts three servers that keep each stream three times. The first one stands for all of them.
func cluster(t *testing.T, names ...string) (first *server, nodes []*server) {
	t.Helper()
	first = prepare(t, names...)
	var routes, urls []string
	for i := range 3 {
		s := first
		if i > 0 {
			s = &server{t: t, path: first.path, dir: t.TempDir(), hub: first.hub, seed: first.seed, poke: first.poke}
			s.hub.Listen = freeAddress(t)
		}
		route := freeAddress(t)
		routes, urls = append(routes, "nats://"+route), append(urls, "nats://"+s.hub.Listen)
		s.edit = func(config string) string {
			name := fmt.Sprint("node-", i)
			return strings.Replace(config, "server_name: c2c-team", "server_name: "+name, 1) +
				fmt.Sprintf("cluster { name: team, listen: %q, routes: [%s] }\n", route, strings.Join(routes, ", "))
		}
		s.streams = func(all []nats.Stream) {
			for i := range all {
				all[i].Config.Replicas = 3
			}
		}
		nodes = append(nodes, s)
	}
	for _, s := range nodes {
		s.hub.URL = strings.Join(urls, ",")
		s.configure()
	}
	for _, s := range nodes {
		s.start()
	}
	for _, s := range nodes {
		s.run.Says(t, "metadata leader")
	}
	heard := make(chan struct{})
	go func() { // nothing tells when the leader has heard of all nodes
		for {
			select {
			case heard <- struct{}{}:
				time.Sleep(100 * time.Millisecond)
			case <-t.Context().Done():
				return
			}
		}
	}()
	all := first.hub.Streams()
	first.streams(all)
	machines.Until(t, "the cluster takes streams", func() bool {
		return nats.MakeStreams(t.Context(), first.hub.Access("", first.seed[""]), all) == nil
	}, heard)
	return first, nodes
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
