package machines

import (
	"math/rand/v2"
	"slices"
	"sync"
)

// Tamper is a man in the middle: it sees and changes the packets of both directions, and has no
// key.
type Tamper struct {
	Share float64           // the share of packets that it tampers with
	Told  func(what string) // if set, called for each of its deeds

	mu   sync.Mutex
	rand *rand.Rand
	seen [][]byte
	held map[string][]byte // by direction: a packet to pass on after the next one
}

// NewTamper makes a Tamper. Tampers with the same seed make the same choices.
func NewTamper(seed uint64, share float64) *Tamper {
	return &Tamper{Share: share, rand: rand.New(rand.NewPCG(seed, seed)), held: map[string][]byte{}}
}

// Deeds names all that a Tamper does to packets.
var Deeds = []string{"drop", "replay", "flip", "swap", "rename", "reflect", "halve"}

// mostSeen limits how many packets a Tamper remembers.
const mostSeen = 2000

// Packet returns the packets that the receiver gets in place of packet. direction is any name for
// its direction.
func (t *Tamper) Packet(direction string, packet []byte) (out [][]byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.seen) < mostSeen {
		t.seen = append(t.seen, packet)
	}
	if held := t.held[direction]; held != nil { // the packet before this one was held back to swap the two
		delete(t.held, direction)
		return [][]byte{packet, held}
	}
	if t.rand.Float64() >= t.Share {
		return [][]byte{packet}
	}
	deed := Deeds[t.rand.IntN(len(Deeds))]
	if t.Told != nil {
		t.Told(deed)
	}
	other := t.seen[t.rand.IntN(len(t.seen))]
	switch deed {
	case "drop":
		return nil
	case "replay":
		return [][]byte{packet, other, packet}
	case "flip":
		bad := slices.Clone(packet)
		bad[t.rand.IntN(len(bad))] ^= 1 << t.rand.IntN(8)
		return [][]byte{bad}
	case "swap":
		t.held[direction] = packet
		return nil
	case "rename": // exchanges the keys of the sender and the receiver
		const first, size = 6, 32
		bad := slices.Clone(packet)
		copy(bad[first:], packet[first+size:first+2*size])
		copy(bad[first+size:], packet[first:first+size])
		return [][]byte{bad, packet}
	case "reflect": // sends an earlier packet of either direction in place of this one
		return [][]byte{other}
	default:
		return [][]byte{append(slices.Clone(packet[:len(packet)/2]), other[len(other)/2:]...), packet}
	}
}

// Seen returns the packets that the Tamper remembers.
func (t *Tamper) Seen() [][]byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.seen)
}
