package relay

import (
	"bytes"
	"crypto/ed25519"
	"encoding/binary"
	"errors"
	"fmt"

	"c2c/inbox/mail"
)

// Kind is the kind of a packet. Of several hellos that wait, a carrier may keep only the last one.
type Kind byte

const (
	Frame   Kind = 'f' // numbered messages; a frame without messages asks for a receipt
	Receipt Kind = 'r' // says which messages are stored
	Hello   Kind = 'h' // the present sessions
	States  Kind = 's' // which stored messages were handed over or read
)

// header is the beginning of every packet. It is not encrypted, so the carrier can read it. Numbers
// are big-endian.
type header struct {
	kind        Kind
	from, to    [ed25519.PublicKeySize]byte
	project     string // at most 64 bytes; equal on all hosts
	epoch       uint64 // in a frame: the epoch of its numbers; in a receipt: the epoch of the answered frame
	number      uint64 // in a frame: the number of its first message; in a receipt: the highest stored number; in other kinds it grows with each packet
	hash        hash   // in a frame: the hash up to the message before number; in a receipt: the hash up to number
	acked       uint64 // in a frame: the first number without a receipt; in a receipt: the epoch to which number belongs
	maybeStored uint64 // in a frame: messages up to this number may be stored under other numbers
	attempt     uint32 // in a frame: counts the resends since the last progress; in a receipt: the attempt of the answered frame
	count       uint16 // in a frame: how many messages; in a receipt: how many refusals
	state       state
}

// hash is a running hash over the ids of the messages of an epoch. The hash up to number n covers
// the messages 1 to n. If two hosts have the same hash up to n, they have the same messages under
// these numbers. In files and in docs/inside/relay.md, it is called link.
type hash [16]byte

// state has two meanings: in a receipt, the result of the answered frame; in a frame, the reason
// why its epoch was begun.
type state byte

const (
	fine      state = iota // in a receipt: the messages are stored; in a frame: the sender knows no earlier epoch
	gap                    // earlier messages are missing: the sender must send from number+1
	restored               // the receiver knows of fewer stored messages than its receipts have confirmed
	forked                 // the receiver has stored other messages under these numbers
	newer                  // the receiver knows a higher epoch of the sender than the epoch of the frame
	anew                   // the messages are stored, and the receiver knows an earlier epoch of the sender
	revoked                // the receiver no longer accepts packets of this sender
	noProject              // the receiver does not have the project
	lastState
)

const (
	magic       = "c2cr\x01"
	fixedHeader = len(magic) + 1 + 2*ed25519.PublicKeySize + 1 + 8 + 8 + 16 + 8 + 8 + 4 + 2 + 1
	maxProject  = 64
	// maxNumber limits epochs and numbers, so that sums do not overflow, and JSON keeps the exact
	// value.
	maxNumber = 1 << 52
)

// errForeign marks a packet that is invalid, not for this host, or not from a paired host. The
// relay drops it.
var errForeign = errors.New("packet is refused")

func (h header) append(b []byte) []byte {
	b = append(append(b, magic...), byte(h.kind))
	b = append(append(b, h.from[:]...), h.to[:]...)
	b = append(append(b, byte(len(h.project))), h.project...)
	b = binary.BigEndian.AppendUint64(b, h.epoch)
	b = binary.BigEndian.AppendUint64(b, h.number)
	b = append(b, h.hash[:]...)
	b = binary.BigEndian.AppendUint64(b, h.acked)
	b = binary.BigEndian.AppendUint64(b, h.maybeStored)
	b = binary.BigEndian.AppendUint32(b, h.attempt)
	b = binary.BigEndian.AppendUint16(b, h.count)
	return append(b, byte(h.state))
}

// parse parses a packet. The results sealed, signed and signature share the packet's memory.
func parse(packet []byte) (h header, sealed, signed, signature []byte, err error) {
	bad := func(what string) (header, []byte, []byte, []byte, error) {
		return header{}, nil, nil, nil, fmt.Errorf("%w: %s", errForeign, what)
	}
	if len(packet) > MaxPacket || len(packet) < fixedHeader+ed25519.SignatureSize || !bytes.HasPrefix(packet, []byte(magic)) {
		return bad("wrong size or first bytes")
	}
	rest := packet[len(magic):]
	take := func(n int) (part []byte) {
		part, rest = rest[:n], rest[n:]
		return part
	}
	h.kind = Kind(take(1)[0])
	copy(h.from[:], take(len(h.from)))
	copy(h.to[:], take(len(h.to)))
	size := int(take(1)[0])
	if size > maxProject || len(packet) < fixedHeader+size+ed25519.SignatureSize {
		return bad("wrong length of its project")
	}
	h.project = string(take(size))
	h.epoch = binary.BigEndian.Uint64(take(8))
	h.number = binary.BigEndian.Uint64(take(8))
	copy(h.hash[:], take(len(h.hash)))
	h.acked = binary.BigEndian.Uint64(take(8))
	h.maybeStored = binary.BigEndian.Uint64(take(8))
	h.attempt = binary.BigEndian.Uint32(take(4))
	h.count = binary.BigEndian.Uint16(take(2))
	h.state = state(take(1)[0])
	switch {
	case bytes.IndexByte([]byte{byte(Frame), byte(Receipt), byte(Hello), byte(States)}, byte(h.kind)) < 0 || h.state >= lastState:
		return bad("unknown kind or state")
	case max(h.epoch, h.number, h.acked, h.maybeStored) > maxNumber || h.count > maxCount:
		return bad("one of its numbers is out of range")
	case !mail.ValidName(h.project):
		return bad("invalid name of its project")
	}
	end := len(rest) - ed25519.SignatureSize
	return h, rest[:end], packet[:len(packet)-ed25519.SignatureSize], rest[end:], nil
}

// Label is what a carrier may know of a packet.
type Label struct {
	Project string
	Kind    Kind
	First   FrameID // if the packet has messages: which is the first
}

// FrameID names the first message of a frame with messages: the message's epoch and number. The
// zero FrameID names none.
type FrameID struct{ Epoch, Number uint64 }

// LabelOf returns the label of a packet. It checks no signature, so use it only to carry the
// packet.
func LabelOf(packet []byte) (Label, error) {
	h, _, _, _, err := parse(packet)
	l := Label{Project: h.project, Kind: h.kind}
	if h.kind == Frame && h.count > 0 {
		l.First = FrameID{h.epoch, h.number}
	}
	return l, err
}

// pack makes a packet of the header, the sealed body (unless body is empty), and the signature of
// both. The body begins with the sender's key, so that no other host can sign this sealed body and
// present it as its own.
func pack(peers Peers, to Host, h header, body []byte) ([]byte, error) {
	copy(h.from[:], peers.Key.public.sign)
	copy(h.to[:], to.Key.sign)
	packet := h.append(make([]byte, 0, fixedHeader+len(h.project)+len(body)+8<<10))
	if len(body) > 0 {
		sealed, err := to.Key.Seal(append(h.from[:len(h.from):len(h.from)], body...))
		if err != nil {
			return nil, fmt.Errorf("seal a packet for host %q: %w", to.Name, err)
		}
		packet = append(packet, sealed...)
	}
	packet = append(packet, peers.Key.Sign(packet)...)
	if len(packet) > MaxPacket {
		return nil, fmt.Errorf("packet for host %q has %d bytes, at most %d", to.Name, len(packet), MaxPacket)
	}
	return packet, nil
}

// check finds the paired host that has signed a packet for this host. The result may be a revoked
// host.
func check(peers Peers, packet []byte) (from Host, h header, sealed []byte, err error) {
	h, sealed, signed, signature, err := parse(packet)
	if err != nil {
		return from, h, nil, err
	}
	if !bytes.Equal(h.to[:], peers.Key.public.sign) {
		return from, h, nil, fmt.Errorf("%w: it is for another host", errForeign)
	}
	from, ok := peers.PeerOf(h.from[:])
	if !ok {
		return from, h, nil, fmt.Errorf("%w: no host with the key %x is paired with this one", errForeign, h.from[:8])
	}
	if !ed25519.Verify(from.Key.sign, signed, signature) {
		return from, h, nil, fmt.Errorf("%w: it is not signed by host %q", errForeign, from.Name)
	}
	return from, h, sealed, nil
}

// unseal decrypts a body, and checks the sender's key in it.
func unseal(peers Peers, h header, sealed []byte) ([]byte, error) {
	if len(sealed) == 0 {
		return nil, nil
	}
	plain, err := peers.Key.Open(sealed, MaxPacket)
	if err != nil {
		return nil, fmt.Errorf("%w: its body cannot be decrypted: %v", errForeign, err)
	}
	body, ok := bytes.CutPrefix(plain, h.from[:])
	if !ok {
		return nil, fmt.Errorf("%w: its body was sealed by another host", errForeign)
	}
	return body, nil
}
