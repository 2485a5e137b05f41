package hub

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"c2c/relay/nats"
)

var manyHosts = flag.Int("many", 30, "how many hosts the fleet of TestAHubServesManyHosts has")

// counter is a host that counts its packets.
type counter struct {
	got, up atomic.Int64
	changed func()
}

func (c *counter) Packet(context.Context, []byte) error { c.got.Add(1); c.changed(); return nil }
func (c *counter) Link(_ string, up bool) {
	if up {
		c.up.Add(1)
		c.changed()
	}
}

// Each host has a stream and a link. It measures the server; see docs/inside/relay.md.
func TestAHubServesManyHosts(t *testing.T) {
	var names []string
	for i := range *manyHosts {
		names = append(names, fmt.Sprint("host", i))
	}
	s := prepareIn(t, tempDir(t), names...)
	s.streams = func(all []nats.Stream) { // the server refuses streams for which the disk has no room
		for i := range all {
			all[i].Config.MaxBytes = 1 << 20
		}
	}
	began := time.Now()
	lap := func() time.Duration {
		d := time.Since(began)
		began = began.Add(d)
		return d.Round(time.Millisecond)
	}
	s.start()
	started := lap()
	s.makeStreams()
	made := lap()
	all := make([]*counter, len(names))
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	carriers := make([]*nats.Carrier, len(names))
	for i, name := range names {
		next := names[(i+1)%len(names)]
		all[i] = &counter{changed: s.changed}
		carriers[i] = nats.New(nats.Config{Access: s.access(name), Peers: func() []string { return []string{next} }, Now: time.Now})
		running.Go(func() { carriers[i].Run(ctx, all[i]) })
	}
	count := func(of func(*counter) int64, least int64) func() bool {
		return func() bool {
			for _, c := range all {
				if of(c) < least {
					return false
				}
			}
			return true
		}
	}
	ups, gots := func(c *counter) int64 { return c.up.Load() }, func(c *counter) int64 { return c.got.Load() }
	each := func() {
		for i := range names {
			if err := carriers[i].Send(ctx, names[(i+1)%len(names)], make([]byte, 1000)); err != nil {
				t.Fatalf("%s: %v", names[i], err)
			}
		}
	}
	s.await("all are linked", count(ups, 1))
	linked := lap()
	each()
	s.await("each has a packet", count(gots, 1))
	passed := lap()
	idle := memory(t, s.run.Pid())
	s.kill()
	lap()
	s.start()
	restarted := lap()
	s.await("all are linked again", count(ups, 2))
	back := lap()
	each()
	s.await("each has another packet", count(gots, 2))
	t.Logf("%d hosts: start %v, streams made in %v, all linked after %v, a packet to each %v; %s; started again in %v, all linked after %v; %s",
		len(names), started, made, linked, passed, idle, restarted, back, memory(t, s.run.Pid()))
}

// memory is what a process uses.
func memory(t *testing.T, pid int) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("/proc", fmt.Sprint(pid), "status"))
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "VmRSS") || strings.HasPrefix(line, "VmHWM") {
			words = append(words, strings.Join(strings.Fields(line), " "))
		}
	}
	return strings.Join(words, ", ")
}
