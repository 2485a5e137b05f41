package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"c2c/broker"
	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
	"c2c/relay"
)

const (
	relayProject = "bench"
	relayBody    = 300
	relayMany    = 10_000
	relayBatch   = 100 // about as many messages as fit into one file of an outbox
	relayTimeout = time.Minute
	bareWords    = "the bare carrier, and one durable file"
)

// relayRows measure mail between two machines. Both machines are in this process: each is a relay
// with a root. Carriers for which a program is missing are left out.
func relayRows() (all []row) {
	for _, way := range ways() {
		if way.missing != "" {
			fmt.Fprintf(os.Stderr, "bench: relay over %s is not measured: %s\n", way.name, way.missing)
			continue
		}
		with := func(w *world) error { return w.startRelays(way) }
		all = append(all,
			row{name: "relay over " + way.name + ", outbox to remote mailbox", with: with, do: relayOne, limit: bareWords, against: relayBare, aim: way.aim},
			row{name: fmt.Sprintf("relay over %s, %d messages", way.name, relayMany), with: with, unit: "s", do: relayAll, aim: 1, most: 3})
	}
	return all
}

// way is a kind of carrier. missing says why it cannot be used; "" if it can.
type way struct {
	name, missing string
	aim           float64
	join          func(w *world, laptop, devbox *machine) (end func() error, err error) // sets the carrier of both machines
}

func ways() []way {
	return []way{
		{name: "a pipe", aim: 4, join: joinByPipe},
		{name: "ssh", aim: 4, join: joinBySSH, missing: sshMissing()},
		{name: "NATS", aim: 5, join: joinByNATS, missing: natsMissing()},
	}
}

// relays holds two machines that exchange mail.
type relays struct {
	laptop, devbox *machine
	outbox, inbox  *inbox.Mailbox
	sent           int
	frame          []byte // a packet as large as the relay's, for relayBare
}

// machine is a host with one root, and its relay.
type machine struct {
	name    string
	b       *broker.Broker
	key     *relay.Key
	list    *relay.HostList
	carrier relay.Carrier
	relay   *relay.Relay

	stored atomic.Int64  // number of messages that its relay has stored
	poke   chan struct{} // receives when stored has changed or a bare packet is durable
	last   atomic.Value  // the last frame that it has sent, a []byte
}

func (w *world) startRelays(way way) (err error) {
	dir, err := os.MkdirTemp(w.home, "relay")
	if err != nil {
		return err
	}
	r := &relays{}
	for _, m := range []struct {
		at   **machine
		name string
	}{{&r.laptop, "laptop"}, {&r.devbox, "devbox"}} {
		if *m.at, err = w.machine(dir, m.name); err != nil {
			return err
		}
	}
	for _, pair := range [][2]*machine{{r.laptop, r.devbox}, {r.devbox, r.laptop}} {
		err := pair[0].list.Add(context.Background(), relay.Host{Name: pair[1].name, Carrier: relay.SSH, Projects: []string{relay.AnyName}, Aliases: []string{relay.AnyName}, Key: pair[1].key.Public()})
		if err != nil {
			return err
		}
	}
	end, err := way.join(w, r.laptop, r.devbox)
	if err != nil {
		return err
	}
	w.running = append(w.running, end)
	for _, m := range []*machine{r.devbox, r.laptop} {
		if err := w.runRelay(m); err != nil {
			return err
		}
	}
	if r.outbox, err = inbox.Open(r.laptop.b.Dir(), relay.Outbox("devbox"), inbox.Config{}); err == nil {
		r.inbox, err = inbox.Open(r.devbox.b.Dir(), "birch", inbox.Config{})
	}
	w.relays = r
	return err
}

// machine makes a machine with the session birch.
func (w *world) machine(dir, name string) (*machine, error) {
	m := &machine{name: name, poke: make(chan struct{}, 1)}
	maker := *w
	maker.root = filepath.Join(dir, name)
	if _, err := maker.time(w.program("c2c"), "register", "birch", "--session-id", "birch"); err != nil {
		return nil, err
	}
	state, err := atomicfile.Create(filepath.Join(dir, name+".state"))
	if err != nil {
		return nil, err
	}
	if m.key, err = relay.NewKey(); err != nil {
		return nil, err
	}
	m.list = relay.OpenHosts(state, time.Now)
	m.b, err = broker.Open(broker.Config{Root: maker.root})
	w.running = append(w.running, state.Close)
	return m, err
}

// runRelay runs the relay of a machine until the row ends.
func (w *world) runRelay(m *machine) (err error) {
	m.relay, err = relay.Open(relay.Config{Root: m.b.Dir(), Project: relayProject, Peers: relay.Peers{Key: m.key, List: m.list}, Carrier: m, Post: m})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	var failed, broken error
	running.Go(func() { failed = m.relay.Run(ctx) })
	running.Go(func() { broken = m.carrier.Run(ctx, m) })
	w.running = append(w.running, func() error {
		cancel()
		running.Wait()
		return errors.Join(failed, broken, m.b.Close())
	})
	return nil
}

// Send implements relay.Carrier for the machine's relay: it records the last frame, and passes the
// packet on to the real carrier.
func (m *machine) Send(ctx context.Context, peer string, packet []byte) error {
	if l, err := relay.LabelOf(packet); err == nil && l.Kind == relay.Frame {
		m.last.Store(packet)
	}
	return m.carrier.Send(ctx, peer, packet)
}

// Run implements relay.Carrier. It does nothing, because runRelay runs the real carrier.
func (m *machine) Run(context.Context, relay.Handler) error { return nil }

// bareMark is the end of a packet that relayBare has sent, and that is not for the relay.
var bareMark = []byte("bare")

// Packet implements relay.Handler.
func (m *machine) Packet(ctx context.Context, packet []byte) error {
	if !bytes.HasSuffix(packet, bareMark) {
		return m.relay.Packet(ctx, packet)
	}
	defer m.changed()
	return m.b.Dir().Replace("bare", packet)
}

// Link implements relay.Handler.
func (m *machine) Link(peer string, up bool) { m.relay.Link(peer, up) }

func (m *machine) changed() {
	select {
	case m.poke <- struct{}{}:
	default:
	}
}

// Deliver implements relay.Post.
func (m *machine) Deliver(ctx context.Context, _, alias string, msgs []mail.Message, mayRepeat bool) (relay.Reason, error) {
	if _, err := broker.Receive(ctx, m.b, alias, msgs, mayRepeat); err != nil {
		return "", err
	}
	m.stored.Add(int64(len(msgs)))
	m.changed()
	return relay.Stored, nil
}

// Refused implements relay.Post.
func (m *machine) Refused(_ context.Context, _ string, msg mail.Message, why relay.Reason) error {
	return fmt.Errorf("message %s is refused: %s", msg.ID, why)
}

// await waits until the function so returns true. It calls so at once, and after each change.
func (m *machine) await(so func() bool) error {
	late := time.After(relayTimeout)
	for !so() {
		select {
		case <-m.poke:
		case <-late:
			return fmt.Errorf("%s: received nothing for %s", m.name, relayTimeout)
		}
	}
	return nil
}

// put stores messages in the outbox.
func (r *relays) put(count int) error {
	msgs := make([]mail.Message, count)
	for i := range msgs {
		msgs[i] = mail.Message{From: "amber", FromSession: "amber", To: "birch@devbox", ID: mail.NewID(time.Now()), Content: strings.Repeat("words ", relayBody/6)}
	}
	r.sent += count
	_, err := r.outbox.Deliver(context.Background(), msgs...)
	return err
}

// arrived makes the relay read the outbox, and waits until the other machine has stored all mail.
func (r *relays) arrived() error {
	r.laptop.relay.Look("devbox")
	return r.devbox.await(func() bool { return r.devbox.stored.Load() >= int64(r.sent) })
}

// settled polls until the outbox is empty, because nothing reports that.
func (r *relays) settled() error {
	for late := time.Now().Add(relayTimeout); ; time.Sleep(200 * time.Microsecond) {
		used, err := r.outbox.Used()
		if err != nil || !used {
			return err
		}
		if time.Now().After(late) {
			return errors.New("the outbox did not become empty in time")
		}
	}
}

// empty removes all mail from the other machine's mailbox.
func (r *relays) empty() error {
	ctx := context.Background()
	l, err := r.inbox.Lease(ctx, "bench", 1<<40)
	if err != nil {
		return err
	}
	return l.Remove(ctx, inbox.Handles(l.Messages)...)
}

// relayOne measures how long one message takes from the outbox to the mailbox on the other machine,
// while no other mail is under way.
func relayOne(w *world) ([]float64, error) {
	r := w.relays
	start := time.Now()
	err := r.put(1)
	if err == nil {
		err = r.arrived()
	}
	took := since(start)
	if err == nil {
		err = errors.Join(r.settled(), r.empty())
	}
	if frame, ok := r.laptop.last.Load().([]byte); ok && r.frame == nil {
		r.frame = append(bytes.Clone(frame[:len(frame)-len(bareMark)]), bareMark...)
	}
	return one(took, err)
}

// relayBare is the limit of relayOne: the carrier carries a packet of the same size, and the other
// machine writes it to a file.
func relayBare(w *world) ([]float64, error) {
	r := w.relays
	if r.frame == nil {
		if _, err := relayOne(w); err != nil {
			return nil, err
		}
	}
	select {
	case <-r.devbox.poke:
	default:
	}
	start := time.Now()
	if err := r.laptop.carrier.Send(context.Background(), "devbox", r.frame); err != nil {
		return nil, err
	}
	done := false
	err := r.devbox.await(func() bool { was := done; done = true; return was })
	return one(since(start), err)
}

// relayAll measures how many seconds it takes until the other machine has stored many messages and
// this machine has all receipts.
func relayAll(w *world) ([]float64, error) {
	r := w.relays
	for range relayMany / relayBatch {
		if err := r.put(relayBatch); err != nil {
			return nil, err
		}
	}
	start := time.Now()
	err := errors.Join(r.arrived(), r.settled())
	took := time.Since(start).Seconds()
	return one(took, errors.Join(err, r.empty()))
}

// joinByPipe connects two machines by two pipes of the kernel.
func joinByPipe(_ *world, laptop, devbox *machine) (end func() error, err error) {
	toDevbox, fromLaptop, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	toLaptop, fromDevbox, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	laptop.carrier, devbox.carrier = &pipe{peer: "devbox", in: toLaptop, out: fromLaptop}, &pipe{peer: "laptop", in: toDevbox, out: fromDevbox}
	return func() error { return nil }, nil
}

// pipe is a machine's end of a pair of pipes. It is a relay.Carrier.
type pipe struct {
	peer    string
	in, out *os.File
	mu      sync.Mutex
}

func (p *pipe) Send(_ context.Context, _ string, packet []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err := p.out.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(packet))), packet...))
	return err
}

func (p *pipe) Run(ctx context.Context, h relay.Handler) error {
	defer p.out.Close()
	defer context.AfterFunc(ctx, func() { p.in.Close() })()
	h.Link(p.peer, true)
	r := bufio.NewReaderSize(p.in, 64<<10)
	for {
		var size [4]byte
		_, err := io.ReadFull(r, size[:])
		packet := make([]byte, binary.BigEndian.Uint32(size[:]))
		if err == nil {
			_, err = io.ReadFull(r, packet)
		}
		if err != nil {
			if ctx.Err() != nil || err == io.EOF {
				return nil
			}
			return err
		}
		if err := h.Packet(ctx, packet); err != nil && ctx.Err() == nil {
			return err
		}
	}
}

// listens waits until something listens at an address.
func listens(addr string) error {
	for late := time.Now().Add(relayTimeout); ; time.Sleep(10 * time.Millisecond) {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			return conn.Close()
		}
		if time.Now().After(late) {
			return err
		}
	}
}

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}
