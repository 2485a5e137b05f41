// Package wake decides when to ring a session, that is, to make its AI program look at new mail. It defines what a
// ring is, the words of a notice, and what each way to reach a client promises. It has no state but Policy and links
// no library, because every hook links it.
//
// The packages below wake do the work: watch notices that a mailbox changed, and each client has a folder with the
// ways to reach it.
package wake

import (
	"time"

	"c2c/inbox/mail"
)

// Outcomes of a look at a mailbox, as they are recorded.
const (
	Rang       = "rang"
	Coalesced  = "coalesced"  // rung for already, and nobody has drained since
	Filtered   = "filtered"   // all of it may wait
	Uncaptured = "uncaptured" // the client did not take the ring
	Away       = "away"       // no terminal shows the session
	Refused    = "refused"    // the client's person lets others not write to it
	Held       = "held"       // the client keeps the ring until its person accepts it
	Failed     = "failed"
)

// Ring is what was done, or not done, about mail that waits. This is its form
// in the session's record and in every --json.
type Ring struct {
	At      time.Time `json:"at,omitzero"`
	Method  string    `json:"method,omitempty"`
	Outcome string    `json:"outcome,omitempty"`
	Oldest  string    `json:"oldest,omitempty"` // id of the oldest message that waited
	From    string    `json:"from,omitempty"`   // who sent that one: two senders may use one id
	Count   int       `json:"count,omitempty"`  // how many waited
	Tries   int       `json:"tries,omitempty"`  // rings in a row for the oldest, by a ringer that does not live to count them
	Cause   string    `json:"cause,omitempty"`  // why, when it did not ring
	Trace   string    `json:"trace_id,omitempty"`
	// Began says that the client was given mail while no turn ran, and so has begun one with it.
	Began bool `json:"-"`
}

// For is the ring with the oldest message that waited.
func (r Ring) For(m mail.Message) Ring {
	r.Oldest, r.From = m.ID, m.From
	return r
}

// IsFor says whether m was the oldest that waited.
func (r Ring) IsFor(m mail.Message) bool { return r.SameMail(Ring{}.For(m)) }

// SameMail says whether the same message was the oldest that waited at both.
func (r Ring) SameMail(other Ring) bool { return r.Oldest == other.Oldest && r.From == other.From }

// String is the ring in words.
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

// MaxLook is how much of a backlog is read to ring for it, in bytes.
const MaxLook = 64 << 10
