package relaytest

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"c2c/relay"
)

// Net joins hosts by pipes in memory. Its exported fields say what happens to packets. Set them
// before a host starts, or later by the method Set.
type Net struct {
	Lose, Repeat, Reorder float64                                       // the share of packets that are lost, repeated, reordered
	Tamper                func(from, to string, packet []byte) [][]byte // returns the packets that arrive instead of packet; nil: packet itself arrives

	mu    sync.Mutex
	rand  *rand.Rand
	ports map[string]*Port
	cut   bool
	sent  int
}

// NewNet makes a net whose random choices follow from seed.
func NewNet(seed uint64) *Net {
	return &Net{rand: rand.New(rand.NewPCG(seed, seed)), ports: map[string]*Port{}}
}

// Port is a host's end of the net. It is a relay.Carrier.
type Port struct {
	net     *Net
	name    string
	arrived chan []byte
	mu      sync.Mutex
	handler relay.Handler // nil: the host does not run
	serve   func(packet []byte) error
}

// Join gives a host its Port.
func (n *Net) Join(h *Host) {
	n.mu.Lock()
	defer n.mu.Unlock()
	p := &Port{net: n, name: h.Name}
	n.ports[h.Name] = p
	h.Carrier = p
}

// Set changes the net's fields.
func (n *Net) Set(change func(*Net)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	change(n)
}

// Cut removes all links, or restores them if cut is false.
func (n *Net) Cut(cut bool) {
	n.mu.Lock()
	n.cut = cut
	n.mu.Unlock()
	n.tellAll()
}

// Serve is for a host whose relay does not run: it makes the net call the function take with each
// packet for the host. A nil take ends that.
func (n *Net) Serve(h *Host, take func(packet []byte) error) {
	p := n.ports[h.Name]
	p.mu.Lock()
	p.serve = take
	p.mu.Unlock()
	n.tellAll()
}

// Sent returns how many packets the hosts have sent.
func (n *Net) Sent() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.sent
}

// tellAll calls the method Link of each host's handler, once for each other host.
func (n *Net) tellAll() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, p := range n.ports {
		for _, other := range n.ports {
			if h := p.running(); h != nil && other != p {
				h.Link(other.name, !n.cut && other.answers())
			}
		}
	}
}

func (p *Port) running() relay.Handler {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.handler
}

// answers reports whether packets for this port go to a relay, or to a function that Serve has set.
func (p *Port) answers() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.handler != nil || p.serve != nil
}

// Run implements relay.Carrier.
func (p *Port) Run(ctx context.Context, h relay.Handler) error {
	arrived := make(chan []byte, 1<<16)
	p.mu.Lock()
	p.handler, p.arrived = h, arrived
	p.mu.Unlock()
	p.net.tellAll()
	defer func() {
		p.mu.Lock()
		p.handler = nil
		p.mu.Unlock()
		p.net.tellAll()
	}()
	for {
		select {
		case <-ctx.Done():
			return nil
		case packet := <-arrived:
			h.Packet(ctx, packet) // on an error the packet is lost
		}
	}
}

// Send implements relay.Carrier.
func (p *Port) Send(_ context.Context, peer string, packet []byte) error {
	n := p.net
	n.mu.Lock()
	defer n.mu.Unlock()
	to := n.ports[peer]
	if n.cut || to == nil || !to.answers() {
		return relay.ErrAway
	}
	n.sent++
	packets := [][]byte{packet}
	if n.Tamper != nil {
		packets = n.Tamper(p.name, peer, packet)
	}
	for _, packet := range packets {
		for times := 1; times > 0; times-- {
			if n.rand.Float64() < n.Repeat {
				times++
			}
			if n.rand.Float64() < n.Lose {
				continue
			}
			if n.rand.Float64() < n.Reorder {
				late := time.Duration(n.rand.IntN(20)) * time.Millisecond
				time.AfterFunc(late, func() { to.arrive(packet) })
				continue
			}
			to.arrive(packet)
		}
	}
	return nil
}

// arrive gives a packet to the function that Serve has set, and queues it for the host's relay. If
// there is neither, or the queue is full, the packet is lost.
func (p *Port) arrive(packet []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.serve != nil {
		go p.serve(packet) // in a goroutine, because serve may send an answer, and Send takes the lock of the net
	}
	if p.handler == nil {
		return
	}
	select {
	case p.arrived <- packet:
	default:
	}
}
