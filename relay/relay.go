// Package relay carries mail to other machines: from an outbox here to mailboxes there. The
// messages are numbered, so each one arrives once, and they arrive in order.
//
// The outbox for a paired host is the mailbox host-<peer> of a root. The relay numbers the waiting
// messages, puts them into signed packets that only the receiving host can open, and gives the
// packets to a Carrier. The other host's relay stores the messages durably and in their order, and
// answers with a receipt. Only then the messages leave the outbox. If the hosts disagree about what
// is stored, the sending host begins a new epoch: its numbers begin at 1 again. Below the root, the
// directory relay has these files:
//
//	<peer>.head.json  which messages have a receipt; see head
//	<peer>.hw.json    which messages of the peer are stored; see highWater
//	<peer>.lock       held by the only process that relays for this root and peer
//
// docs/inside/relay.md describes the packets, and the effects of a kill between two steps.
package relay

import (
	"cmp"
	"context"
	"errors"
	"time"

	"c2c/inbox/mail"
)

// MaxPacket is the greatest size of a packet, in bytes. NATS takes at most 1 MiB, including its
// headers.
const MaxPacket = 900 << 10

// ErrAway means that there is no link, that is no connection, to a peer now.
var ErrAway = errors.New("no link to the host")

// A Carrier moves packets between hosts. It may lose, repeat, reorder, reveal and damage packets:
// the relay copes with all that. One carrier serves all roots of a process.
type Carrier interface {
	// Send passes a packet for the named host to the carrier. A nil error does not prove that the
	// packet arrives. The error is ErrAway if there is no link now; then the relay waits for
	// Handler.Link. Any number of goroutines may call Send. The caller must not modify the packet
	// afterwards.
	Send(ctx context.Context, peer string, packet []byte) error

	// Run passes each incoming packet to h, until ctx ends.
	Run(ctx context.Context, h Handler) error
}

// LinkStatus is the state of the link to one host, for people.
type LinkStatus struct {
	Peer  string    `json:"host"`
	Dest  string    `json:"ssh,omitempty"` // ssh destination; "" for a host that connects to this one, or has a hub
	Hub   string    `json:"hub,omitempty"` // the hub's address, for a host that is reached through a hub
	Up    bool      `json:"up"`            // with a hub: the hub stores mail for the host, even while the host is off
	Since time.Time `json:"since,omitzero"`
	Error string    `json:"error,omitempty"` // why there is no link
}

// A Loser is a Carrier that notices which packets it has lost.
type Loser interface {
	// Lost returns the first frame of a project that is lost, of those that the carrier has taken
	// for a peer since the last call.
	Lost(peer, project string) FrameID
}

// A Handler takes a carrier's packets, such as a *Relay.
type Handler interface {
	// Packet takes a packet of any host; the packet itself proves its sender. Several goroutines
	// may call Packet at once. After a nil error the carrier may forget the packet. After an error,
	// a carrier that keeps packets offers it again.
	Packet(ctx context.Context, packet []byte) error

	// Link reports whether there is a link to a peer from now on. Before the first call there is no
	// link. After a short loss, a carrier may call Link(peer, true) without Link(peer, false)
	// before it. Link does not block.
	Link(peer string, up bool)
}

// Post is the local end of the relay: it stores mail, and notifies senders.
type Post interface {
	// Deliver stores messages of a peer for one local alias, in this order and in one commit. Their
	// sender is <alias>@<peer>, their session is r-<peer>.<session>, and their times are those of
	// this host's clock. If Deliver returns Stored, they survive a power cut. Any other Reason
	// means that Deliver has refused all of them for good. If mayRepeat is set, some may be stored
	// already, under their ids: Deliver must not store these twice. If mayRepeat is not set, none
	// is stored yet. After an error the relay tries again, with mayRepeat set. If alias is a room,
	// such as #review, each message asks the room for something, such as a post or a join. For a
	// room the relay does not call MayReach: Deliver itself decides. Deliver waits for a lock only
	// briefly, because the packets of other projects wait meanwhile.
	Deliver(ctx context.Context, peer, alias string, msgs []mail.Message, mayRepeat bool) (Reason, error)

	// Refused tells the sender of a message, durably, that the peer has refused the message for
	// good. The relay may call it again for the same message.
	Refused(ctx context.Context, peer string, msg mail.Message, why Reason) error
}

// Reason is the reason why a host has refused a message for good.
type Reason string

const (
	Stored    Reason = "" // not refused
	Unknown   Reason = "unknown"
	Forbidden Reason = "forbidden"
	Full      Reason = "full"
	Invalid   Reason = "invalid"
	Taken     Reason = "taken"
	Expired   Reason = "expired"
	Blocked   Reason = "blocked"
	NoRoom    Reason = "no room"
	NoMember  Reason = "no member"
	NoPost    Reason = "no post"
)

var reasons = map[Reason]string{
	Unknown:   "no session there has this alias",
	Forbidden: "that host does not let this one write to it; its person may allow that with c2c relay allow",
	Full:      "the mailbox of that session is full; it must read its mail first",
	Invalid:   "that host's mailboxes cannot store a message of this form",
	Taken:     "the mailbox there has another message with this id",
	Expired:   "the message had expired when it arrived",
	Blocked:   "on that host, something else is in the place of the mailbox's files",
	NoRoom:    "that host has no such room",
	NoMember:  "the session is not in that room, or was not invited to it",
	NoPost:    "the room does not take the post: the post that it answers may be gone, or it wakes all without a reason",
}

// Text explains a reason to the sender of the message. A peer may send any word as a reason.
func (r Reason) Text() string { return cmp.Or(reasons[r], reasons[Invalid]) }
