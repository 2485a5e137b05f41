package wake

import (
	"time"

	"c2c/inbox"
)

const (
	firstGap = 15 * time.Second // between rings for the same message, doubling
	lastGap  = 10 * time.Minute
	minGap   = time.Second / 2  // between any two rings: a burst is a few rings, not one each
	busyLook = 2 * time.Second  // how often a busy session with mail is looked at
	patience = 5 * time.Minute  // a session that says it is busy for longer is rung all the same
	never    = time.Duration(0) // until something changes
)

// Outcomes of a look at a mailbox, as they are recorded.
const (
	Rang       = "rang"
	Coalesced  = "coalesced"  // rung for already, and nobody has drained since
	Filtered   = "filtered"   // all of it may wait
	Uncaptured = "uncaptured" // the client did not take the ring
	Failed     = "failed"
)

// policy remembers what a session was rung for. Nobody need tell it of a
// drain: another oldest message says so, whichever process drained.
type policy struct {
	oldest string    // the id that was rung for
	first  time.Time // when that was seen first
	rang   time.Time // when it, or another one, was rung for last
	gap    time.Duration
	tries  int
}

// decision says whether to ring now, and when to look again if nothing changes.
type decision struct {
	ring    bool
	outcome string // when there is no ring and something is to be said about it
	again   time.Duration
}

// Loud are the messages that may wake somebody.
func Loud(msgs []inbox.Message) (out []inbox.Message) {
	for _, m := range msgs {
		if !m.Deferrable && m.Kind != "system" {
			out = append(out, m)
		}
	}
	return out
}

// decide looks at what waits. busy is a session that works, quiet one that wants no ring.
func (p *policy) decide(now time.Time, waiting []inbox.Message, busy, quiet bool) decision {
	msgs := Loud(waiting)
	if len(msgs) == 0 || quiet {
		if len(waiting) > 0 {
			return decision{outcome: Filtered, again: never}
		}
		return decision{again: never}
	}
	if msgs[0].ID != p.oldest {
		p.oldest, p.first, p.tries, p.gap = msgs[0].ID, now, 0, minGap
	}
	if due := p.rang.Add(p.gap); now.Before(due) {
		d := decision{again: due.Sub(now)}
		if p.tries > 0 {
			d.outcome = Coalesced
		}
		return d
	}
	if busy && now.Sub(p.first) < patience {
		return decision{again: busyLook} // its next hook carries the mail
	}
	return decision{ring: true}
}

// done records a ring for the oldest message; first is the gap behind the first one.
func (p *policy) done(now time.Time, first time.Duration) {
	p.tries++
	p.rang = now
	p.gap = gapAfter(first, p.tries)
}

// gapAfter is the gap behind so many rings for the same message.
func gapAfter(first time.Duration, tries int) time.Duration {
	gap := first
	for i := 1; i < tries && (i == 1 || gap < lastGap); i++ {
		gap = min(2*gap, lastGap)
	}
	return gap
}
