package hub

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"

	"c2c/e2e/machines"
	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/relay"
)

var (
	chaosFor   = flag.Duration("for", 9*time.Second, "how long mail is sent in TestNothingIsLostDoubledOrReorderedInChaos; from 5m on links are down for 30 s and for 3 min")
	chaosSize  = flag.Int("messages", 1200, "how many messages are sent in it, by all hosts together")
	chaosHosts = flag.Int("hosts", 2, "how many hosts there are in it")
	chaosOld   = flag.Int("archived", 0, "how many messages each receiver has in its archive before it begins")
)

// fleet is some machines that write to each other, by ssh and by a hub.
type fleet struct {
	*machines.Net
	t     *testing.T
	hosts []*machines.Machine
	hub   *machines.Hub

	mu     sync.Mutex
	next   map[string]int // by "receiver sender": the message that comes next
	wrong  []string
	deeds  map[string]int
	sent   atomic.Int64
	stored atomic.Int64
}

func alias(i int) string { return fmt.Sprint("s", i) }

// build makes the machines and pairs each with all others by ssh, and has all join a hub. dir is
// for their homes.
func build(t *testing.T, dir string) *fleet {
	t.Helper()
	f := &fleet{Net: machines.New(t, dir, os.Getenv("C2C_E2E_BIN")), t: t, next: map[string]int{}, deeds: map[string]int{}}
	var names []string
	f.Patience = min(10*time.Minute, time.Minute+*chaosFor)
	for i := range *chaosHosts {
		names = append(names, fmt.Sprint("host", i))
		m := f.Machine(names[i], alias(i), project)
		m.Env = []string{"C2C_STORM_HOPS=0"} // they only answer each other
		f.hosts = append(f.hosts, m)
	}
	for i, a := range f.hosts {
		for _, b := range f.hosts[i+1:] {
			f.Pair(a, b)
		}
	}
	f.hub = f.Hub(names...)
	for i, m := range f.hosts {
		f.hub.Join(m, names[i])
	}
	for _, m := range f.hosts {
		f.fill(m, *chaosOld)
	}
	return f
}

// by has all mail go one way. A machine notices the change of its list.
func (f *fleet) by(kind string) {
	for i, m := range f.hosts {
		m.Change(func(l *relay.HostList) error { return f.change(l, i, kind) })
	}
}

func (f *fleet) change(l *relay.HostList, i int, kind string) error {
	all, err := l.All()
	for _, h := range all {
		h.Carrier, h.Dest = kind, ""
		if j, _ := strconv.Atoi(strings.TrimPrefix(h.Name, "host")); kind == relay.SSH && i < j {
			h.Dest = h.Name
		}
		if err == nil {
			err = l.Add(context.Background(), h)
		}
	}
	return err
}

// fill puts messages into the archive of a session.
func (f *fleet) fill(m *machines.Machine, count int) {
	f.t.Helper()
	dir := m.Root()
	defer dir.Close()
	box, err := inbox.Open(dir, m.SID, inbox.Config{})
	if err != nil {
		f.t.Fatal(err)
	}
	for n := 0; n < count; {
		var some []mail.Message
		for range min(1000, count-n) {
			n++
			some = append(some, mail.Message{From: "old", FromSession: "old", To: m.SID, ID: fmt.Sprint("old-", n), Content: strings.Repeat("x", 300)})
		}
		_, err := box.Deliver(f.t.Context(), some...)
		if err == nil {
			err = read(f.t.Context(), box, func(mail.Message) {})
		}
		if err != nil {
			f.t.Fatal(err)
		}
	}
}

func (f *fleet) box(m *machines.Machine, sid string) *inbox.Mailbox {
	f.t.Helper()
	dir := m.Root()
	f.t.Cleanup(func() { dir.Close() })
	box, err := inbox.Open(dir, sid, inbox.Config{})
	if err != nil {
		f.t.Fatal(err)
	}
	return box
}

// read takes all mail of a mailbox.
func read(ctx context.Context, box *inbox.Mailbox, take func(mail.Message)) error {
	for {
		l, err := box.Lease(ctx, "chaos", 1<<20)
		if err != nil || len(l.Messages) == 0 {
			return err
		}
		for _, m := range l.Messages {
			take(m)
		}
		if err := l.Ack(ctx, inbox.Handles(l.Messages)...); err != nil {
			return err
		}
	}
}

// receive is a client of a machine: it reads what comes, and checks the order.
func (f *fleet) receive(ctx context.Context, m *machines.Machine, box *inbox.Mailbox, root string) error {
	w, err := fsnotify.NewBufferedWatcher(4096)
	if err != nil {
		return err
	}
	defer w.Close()
	if err := w.Add(root); err != nil {
		return err
	}
	for {
		err := read(ctx, box, func(got mail.Message) {
			if got.FromSession == "old" {
				return
			}
			f.mu.Lock()
			defer f.mu.Unlock()
			key := m.SID + " " + got.From
			if got.Kind != "" || got.Content != fmt.Sprint(f.next[key]) {
				f.wrong = append(f.wrong, fmt.Sprintf("%s: of %s comes %.60q where %d is next", m.Name, got.From, got.Content, f.next[key]))
			}
			f.next[key]++
			f.stored.Add(1)
		})
		if err != nil && ctx.Err() == nil {
			return fmt.Errorf("%s reads: %w", m.Name, err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-w.Events:
		}
		for len(w.Events) > 0 {
			<-w.Events
		}
	}
}

// write sends as many messages to each other machine, as c2c send does. Some are sent by processes,
// which may be killed, and are sent again under the same id until they are not.
func (f *fleet) write(ctx context.Context, m *machines.Machine, boxes map[string]*inbox.Mailbox, way string, each int) error {
	const batch = 5
	pause := time.NewTicker(max(*chaosFor/3/time.Duration(max(each/batch, 1)), time.Millisecond))
	defer pause.Stop()
	for n := 0; n < each; n += batch {
		for host, box := range boxes {
			to := alias(hostNumber(host)) + "@" + host
			for k := n; k < min(n+batch, each); k++ {
				var err error
				if id := fmt.Sprint(way, "-", m.SID, "-", host, "-", k); k%50 == 7 {
					err = f.send(m, to, id, fmt.Sprint(k))
				} else {
					_, err = box.Deliver(ctx, mail.Message{From: m.SID, FromSession: m.SID, To: to, ID: id, Content: fmt.Sprint(k)})
				}
				if err != nil {
					return fmt.Errorf("%s writes to %s: %w", m.Name, to, err)
				}
				f.sent.Add(1)
			}
		}
		if n%(10*batch) == 0 { // what c2c send does: a relay that was killed is started again
			m.Cmd(nil, "c2c", "daemon", "want").Run()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-pause.C:
		}
	}
	return nil
}

func hostNumber(host string) int {
	n, _ := strconv.Atoi(strings.TrimPrefix(host, "host"))
	return n
}

// send runs c2c send until it was not killed.
func (f *fleet) send(m *machines.Machine, to, id, text string) error {
	for {
		cmd := m.Cmd(m.Session(), "c2c", "send", "--id", id, to, text)
		var said strings.Builder
		cmd.Stderr = &said
		if err := cmd.Start(); err != nil {
			return err
		}
		kill := rand.IntN(2) == 0
		if kill {
			time.AfterFunc(time.Duration(rand.IntN(8_000))*time.Microsecond, func() { cmd.Process.Kill() })
		}
		err := cmd.Wait()
		if err == nil {
			return nil
		}
		if !kill {
			return fmt.Errorf("c2c send: %w: %s", err, said.String())
		}
		f.did("senders killed")
	}
}

func (f *fleet) did(deed string) {
	f.mu.Lock()
	f.deeds[deed]++
	f.mu.Unlock()
}

// harm does one thing, by chance, that real networks and machines do.
func (f *fleet) harm(way string, cables bool) {
	m := f.hosts[rand.IntN(len(f.hosts))]
	deed := rand.IntN(10)
	switch {
	case deed < 3 && cables:
		f.did("cables cut")
		m.Cut(true)
		time.Sleep(time.Duration(100+rand.IntN(700)) * time.Millisecond)
		m.Cut(false)
	case deed < 6:
		f.did("relays killed")
		m.KillRelay()
	case way == "ssh":
		f.did("ssh killed")
		m.KillLinks()
	case deed < 8:
		f.did("hub killed")
		f.hub.Kill()
		f.hub.Start()
	default:
		f.did("hub wiped")
		f.hub.Wipe()
	}
	if way == "both" {
		f.did("ways changed")
		i := rand.IntN(len(f.hosts))
		kind := []string{relay.SSH, relay.NATS}[rand.IntN(2)]
		f.hosts[i].Change(func(l *relay.HostList) error { return f.change(l, i, kind) })
	}
}

// storm does harm for some time. In a long one the first machine is cut off twice, and harm goes on
// meanwhile.
func (f *fleet) storm(way string) {
	until := func(end time.Time, cables bool) {
		for time.Now().Before(end) {
			f.harm(way, cables)
			time.Sleep(time.Duration(200+rand.IntN(600)) * time.Millisecond)
		}
	}
	end := time.Now().Add(*chaosFor / 3)
	if *chaosFor >= 5*time.Minute {
		for _, d := range []time.Duration{30 * time.Second, 3 * time.Minute} {
			f.did(fmt.Sprint("outages of ", d))
			f.hosts[0].Cut(true)
			until(time.Now().Add(d), false)
			f.hosts[0].Cut(false)
		}
	}
	until(end, true)
	if way == "both" { // while two machines go different ways, what one sends waits
		f.by([]string{relay.SSH, relay.NATS}[rand.IntN(2)])
	}
}

// Links are cut; relays, the hub and senders are killed; the hub loses its store; mail changes its
// way while it is under way.
func TestNothingIsLostDoubledOrReorderedInChaos(t *testing.T) {
	f := build(t, tempDir(t))
	boxes := map[*machines.Machine]map[string]*inbox.Mailbox{}
	ctx, stop := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	failed := make(chan error, 100)
	defer readers.Wait()
	defer stop()
	for _, m := range f.hosts {
		boxes[m] = map[string]*inbox.Mailbox{}
		for _, other := range f.hosts {
			if other != m {
				boxes[m][other.Name] = f.box(m, "host-"+other.Name)
			}
		}
		own, root := f.box(m, m.SID), m.Root()
		t.Cleanup(func() { root.Close() })
		readers.Go(func() { failed <- f.receive(ctx, m, own, root.Path()) })
	}
	total, pairs := 0, len(f.hosts)*(len(f.hosts)-1)
	for _, way := range []string{"ssh", "hub", "both"} {
		f.by(map[string]string{"ssh": relay.SSH, "hub": relay.NATS, "both": relay.SSH}[way])
		each := max(*chaosSize/3/pairs, 1)
		f.deeds = map[string]int{}
		f.next = map[string]int{}
		began, before := time.Now(), f.stored.Load()
		var writers sync.WaitGroup
		for _, m := range f.hosts {
			writers.Go(func() {
				if err := f.write(ctx, m, boxes[m], way, each); err != nil {
					failed <- err
				}
			})
		}
		f.storm(way)
		writers.Wait()
		written := time.Since(began)
		total = each * pairs
		f.calm(before+int64(total), failed)
		t.Logf("%s: %d messages of %d hosts, written in %v, all there %v later; %v", way, total, len(f.hosts),
			written.Round(time.Millisecond), (time.Since(began) - written).Round(time.Millisecond), f.deeds)
	}
	for _, m := range f.hosts {
		if pid := m.Relay(); pid != 0 {
			t.Logf("%s: %s", m.Name, memory(t, pid))
		}
	}
}

// calm starts every relay and waits until all mail has arrived.
func (f *fleet) calm(want int64, failed <-chan error) {
	f.t.Helper()
	for _, m := range f.hosts {
		m.C2C("daemon", "want")
	}
	f.Until("all mail arrives", func() bool {
		select {
		case err := <-failed:
			if err != nil {
				f.t.Fatal(err)
			}
		default:
		}
		return f.stored.Load() >= want && !slices.ContainsFunc(f.hosts, func(m *machines.Machine) bool {
			return slices.ContainsFunc(f.hosts, func(other *machines.Machine) bool { return m != other && m.Waits("host-"+other.Name) })
		})
	})
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.wrong) > 0 || f.stored.Load() != want {
		f.t.Fatalf("%d messages have arrived, want %d: %q", f.stored.Load(), want, f.wrong)
	}
}
