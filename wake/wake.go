// Package wake decides when to ring a session, that is, to make its AI program look at new mail. A
// ringer is a process that rings sessions. The package defines the record of a ring, the text of a
// ring, and what each method to reach a client guarantees. It has no state but Policy. It links no
// library, because every hook links this package.
//
// The packages below wake do the work. Package watch notices that a mailbox has changed. Each
// client has a package with the methods that reach this client.
package wake

import (
	"time"

	"c2c/inbox/mail"
)

// The recorded outcomes of a check of a mailbox.
const (
	Rang       = "rang"
	Coalesced  = "coalesced"  // no ring now: c2c has rung already, and the mail is still unread
	Filtered   = "filtered"   // no ring: all of the mail may wait
	Uncaptured = "uncaptured" // the client did not take the ring
	Away       = "away"       // no terminal shows the session
	Refused    = "refused"    // the client's person does not let other sessions write to it
	Held       = "held"       // the client holds the ring until its person accepts it
	Failed     = "failed"     // c2c could not reach the client
	InPart     = "handed"     // no ring: the session has got a part of a long message, but not the last part
)

// Ring records an attempt to ring for waiting mail, or why c2c did not ring. The recorded facts of
// a session and the output of every --json have a Ring in this form.
type Ring struct {
	At      time.Time `json:"at,omitzero"`
	Method  string    `json:"method,omitempty"`
	Outcome string    `json:"outcome,omitempty"`
	Oldest  string    `json:"oldest,omitempty"` // id of the oldest message that waited
	From    string    `json:"from,omitempty"`   // the sender of that message: two senders may use one id
	Count   int       `json:"count,omitempty"`  // number of messages that waited
	Tries   int       `json:"tries,omitempty"`  // number of rings in a row for the oldest message; only DecideOnce sets it and reads it
	Cause   string    `json:"cause,omitempty"`  // why there was no ring
	RingID  string    `json:"trace_id,omitempty"`
	// Began: the client got mail while no turn ran, so it has begun a turn.
	Began bool `json:"-"`
}

// For returns the ring with m as the oldest waiting message.
func (r Ring) For(m mail.Message) Ring {
	r.Oldest, r.From = m.ID, m.From
	return r
}

// IsFor reports whether m was the oldest waiting message.
func (r Ring) IsFor(m mail.Message) bool { return r.SameMail(Ring{}.For(m)) }

// SameMail reports whether both rings were for the same oldest message.
func (r Ring) SameMail(other Ring) bool { return r.Oldest == other.Oldest && r.From == other.From }

// String describes the ring in words.
func (r Ring) String() string {
	text := r.Outcome
	if r.Method != "" {
		text += " by " + r.Method
	}
	text += " at " + r.At.UTC().Format(time.RFC3339)
	if r.Cause != "" {
		text += ": " + r.Cause
	}
	return text
}

// A ringer reads at most about MaxLook bytes of the waiting mail at once.
const MaxLook = 64 << 10
