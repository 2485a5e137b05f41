// Package relay carries mail to other machines: it stores on one disk what waits on another, with sequence numbers of its own.
//
// The outbox for a paired host is the mailbox host-<peer> of a root. The relay numbers what waits there, packs it into packets that
// are signed as a whole and sealed for their receiver, and gives these to a Carrier. The relay of the other host stores messages in
// their order, durably, and answers with a receipt. Only then they leave the outbox. Below the root, in the directory relay:
//
//	<peer>.head.json  what the relay has receipts for; see head
//	<peer>.hw.json    what it has stored for the peer; see highWater
//	<peer>.lock       held by the one process that relays for this root and peer
//
// docs/inside/relay.md has the packets, and what a kill between two steps leaves.
package relay

import (
	"context"
	"crypto/ed25519"
	"errors"

	"c2c/inbox/mail"
)

// MaxPacket is how many bytes a packet has at most. NATS takes 1 MiB, with its own headers.
const MaxPacket = 900 << 10

// ErrAway says that a peer is not within reach now.
var ErrAway = errors.New("no link to the host")

// A Carrier moves packets between hosts. It may lose, repeat and reorder them: the relay needs nothing else of it. It need not
// keep them secret or whole either. One carrier serves all roots of a process.
type Carrier interface {
	// Send gives a packet to the carrier, for the paired host with this name. Nil is no proof that it arrives. The error is
	// ErrAway when there is no link now; the relay waits for Handler.Link then. Any number of goroutines may call Send.
	// The caller does not change the packet afterwards.
	Send(ctx context.Context, peer string, packet []byte) error

	// Run receives until ctx ends.
	Run(ctx context.Context, h Handler) error
}

// A Handler takes what a carrier brings. A *Relay and a *Switch are handlers.
type Handler interface {
	// Packet takes a packet, from whichever host: the packet itself proves that. Calls may come at once. After nil the
	// carrier may forget the packet; after an error, a carrier that keeps packets offers it again.
	Packet(ctx context.Context, packet []byte) error

	// Link tells that from now on packets can be sent to a peer, or cannot. There is no link before the first call. A link
	// that was lost and is there again is told by up alone, too. Link does not block.
	Link(peer string, up bool)
}

// Peers is what the relay must know of this host and of those that it is paired with. It is asked anew for each packet, so that
// a revocation counts at once. Calls may come from several goroutines.
type Peers interface {
	Key() ed25519.PublicKey             // of this host; it names the host in packets
	Sign(data []byte) []byte            // as this host
	Open(sealed []byte) ([]byte, error) // what was sealed for this host
	Names() []string                    // of all paired hosts, as they are called here
	Peer(name string) (Peer, bool)      // revoked ones, too
	PeerOf(key ed25519.PublicKey) (Peer, bool)
}

// Peer is one paired host.
type Peer interface {
	Name() string // as this host calls it
	Key() ed25519.PublicKey
	Seal(plain []byte) ([]byte, error)
	Revoked() bool
	// MayReach says whether it may write to an alias of a project. With an empty alias: to any in it at all.
	MayReach(project, alias string) bool
}

// Post is the local end of the relay: mailboxes, and senders who are told.
type Post interface {
	// Deliver stores messages of a peer for one local alias, in this order and in one commit. They have the sender
	// birch@peer, the session r-peer-<sid>, and times of this host's clock. When it returns Stored they survive a power
	// cut. Any other reason is final for all of them, and none is stored. With mayRepeat some of them may be stored
	// already, under their ids, and are not to be stored twice; without it none is. After an error the relay tries
	// again, with mayRepeat.
	Deliver(ctx context.Context, peer, alias string, msgs []mail.Message, mayRepeat bool) (Reason, error)

	// Refused tells the sender of a message, durably, that the peer has refused it for good. The relay may call it again
	// for the same message.
	Refused(ctx context.Context, peer string, msg mail.Message, why Reason) error
}

// Reason is why a message was refused for good.
type Reason string

const (
	Stored    Reason = ""          // it was not
	Unknown   Reason = "unknown"   // there is no such alias
	Forbidden Reason = "forbidden" // the host may not write to it
	Full      Reason = "full"      // its mailbox is full
	Invalid   Reason = "invalid"   // no mailbox could keep it
	Taken     Reason = "taken"     // its sender has used the id for another message
	Expired   Reason = "expired"   // its time was over when it arrived
	NoProject Reason = "project"   // the host has no such project
)

// known is the reason, or Invalid for a word that is none: a peer may say anything.
func (r Reason) known() Reason {
	switch r {
	case Unknown, Forbidden, Full, Invalid, Taken, Expired, NoProject:
		return r
	}
	return Invalid
}
