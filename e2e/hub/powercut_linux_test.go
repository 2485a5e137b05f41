package hub

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"c2c/e2e/scratch"
	"c2c/relay"
)

var powerCuts = flag.Int("cuts", 6, "how many power cuts TestMailSurvivesPowerCutsOfMachines makes")

// computer is a machine with a disk of its own. boot starts what runs on it.
type computer struct {
	name  string
	disk  scratch.Disk
	crash func()
	boot  func()
}

// powered is two machines and a hub, each with a disk of its own.
type powered struct {
	*fleet
	all     []*computer // host0, which sends; host1; the hub
	writers []string    // sessions on host0
	next    []int       // the message of each writer that is not acknowledged yet
	got     map[string]int
}

func newPowered(t *testing.T) *powered {
	t.Helper()
	dir := tempDir(t)
	p := &powered{writers: []string{"amber", "birch", "cedar"}, next: make([]int, 3), got: map[string]int{}}
	for _, name := range []string{"host0", "host1", "hub"} {
		d := scratch.Disk{System: "ext4", Image: filepath.Join(dir, name+".img"), Dir: filepath.Join(dir, name)}
		if err := os.Mkdir(d.Dir, 0o700); err != nil {
			t.Fatal(err)
		}
		must(t, d.Make)
		must(t, d.Mount)
		t.Cleanup(func() { unix.Unmount(d.Dir, unix.MNT_DETACH) })
		p.all = append(p.all, &computer{name: name, disk: d})
	}
	p.fleet = build(t, dir)
	p.hosts[0].Sessions(p.writers...)
	for i, m := range p.hosts {
		p.all[i].crash, p.all[i].boot = m.Crash, m.Boot
	}
	p.all[2].crash = func() { p.hub.Kill(); p.hub.Crash() }
	p.all[2].boot = func() {
		p.hub.Start()
		p.hub.Person("relay", "hub", "streams", p.hub.Dir)
	}
	p.syncSeldom()
	unix.Sync() // what the test itself has written
	return p
}

func must(t *testing.T, do func() error) {
	t.Helper()
	if err := do(); err != nil {
		t.Fatal(err)
	}
}

// syncSeldom gives the hub the default of nats-server, which syncs every two minutes.
func (p *powered) syncSeldom() {
	p.t.Helper()
	path := filepath.Join(p.hub.Dir, "nats-server.conf")
	data, err := os.ReadFile(path)
	if err != nil {
		p.t.Fatal(err)
	}
	text := strings.Replace(string(data), "sync_interval: always", "", 1)
	if text == string(data) {
		p.t.Fatal("the configuration has no sync_interval")
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
	p.hub.Kill()
	p.hub.Start()
}

// write sends one message after the other until ctx ends. A message that is not acknowledged is
// sent again under its id.
func (p *powered) write(ctx context.Context, who int, dark *atomic.Bool) {
	for ctx.Err() == nil {
		n := p.next[who]
		cmd := p.hosts[0].Cmd([]string{"C2C_MCP_SESSION_ID=" + p.writers[who]}, "c2c", "send", "--id", fmt.Sprint(p.writers[who], "-", n), "s1@host1", strconv.Itoa(n))
		if cmd.Run() == nil && !dark.Load() {
			p.next[who]++
		}
	}
}

// cut cuts the power of one machine while mail is sent, and starts it again.
func (p *powered) cut(c *computer) {
	p.t.Helper()
	ctx, stop := context.WithCancel(p.t.Context())
	var dark atomic.Bool
	var writers sync.WaitGroup
	for who := range p.writers {
		writers.Go(func() { p.write(ctx, who, &dark) })
	}
	time.Sleep(100*time.Millisecond + rand.N(500*time.Millisecond))
	dark.Store(c.name == "host0") // what host0 acknowledges while its disk stops proves nothing: nobody could see it
	err := c.disk.Cut()
	stop()
	writers.Wait()
	c.crash()
	if err != nil {
		p.t.Fatal(err)
	}
	must(p.t, c.disk.Unmount)
	must(p.t, c.disk.Mount)
	c.boot()
}

// read takes what has come, and checks that it is what comes next of each writer.
func (p *powered) read() {
	p.t.Helper()
	if !p.hosts[1].Waits(p.hosts[1].SID) {
		return
	}
	for _, text := range p.hosts[1].Received() {
		from, content, _ := strings.Cut(text, ": ")
		if content != strconv.Itoa(p.got[from]) {
			p.t.Errorf("of %s comes %.60q where %d is next", from, content, p.got[from])
		}
		p.got[from]++
	}
}

func (p *powered) arrived() bool {
	p.read()
	for who, name := range p.writers {
		if p.got[name+"@host0"] < p.next[who] {
			return p.t.Failed()
		}
	}
	return true
}

// The power of the sender, the receiver and the hub is cut while mail is under way, by ssh and
// through a hub that syncs only every two minutes. Each message that was acknowledged comes once,
// and in its order.
func TestMailSurvivesPowerCutsOfMachines(t *testing.T) {
	p := newPowered(t)
	for i := range *powerCuts {
		way := []string{relay.SSH, relay.NATS}[i/3%2]
		if i%3 == 0 {
			p.by(way)
		}
		p.cut(p.all[i%3])
		p.read()
	}
	p.Until("all acknowledged mail arrives", p.arrived)
	total := 0
	for _, n := range p.next {
		total += n
	}
	p.Until("the outbox is empty", func() bool { return !p.hosts[0].Waits("host-host1") })
	p.read()
	t.Logf("%d power cuts, %d messages acknowledged, all there once, in order", *powerCuts, total)
}
