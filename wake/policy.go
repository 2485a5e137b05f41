package wake

import (
	"cmp"
	"time"

	"c2c/inbox/mail"
)

const (
	firstGap   = 15 * time.Second // between rings for the same message, doubling
	maxGap     = 10 * time.Minute
	minGap     = time.Second / 2  // between any two rings: a burst is a few rings, not one each
	busyLook   = time.Second / 10 // until a busy session with mail is looked at again: its turn may just be ending
	BusyLook   = 2 * time.Second  // the longest time until then: it doubles
	RefusedGap = maxGap           // after a ring that its person's settings refuse or hold
	busyLimit  = 5 * time.Minute  // a session that says it is busy for longer is rung all the same
)

// Policy remembers which message a session was rung for. When another one is the
// oldest, somebody has read the first: nobody has to say so.
type Policy struct {
	oldest Ring          // whose message was rung for
	first  time.Time     // when that was seen first
	rang   time.Time     // when it, or another one, was rung for last
	Gap    time.Duration // before the next ring
	Tries  int           // rings for it
	Joins  bool          // a ring can join the turn that runs: a busy session is rung once for each message
}

// Decision says whether to ring now, and when to look again if nothing changes.
type Decision struct {
	Ring    bool
	Outcome string        // when there is no ring and something is to be said about it
	Again   time.Duration // 0: when something changes
}

// MayWake are the messages that may wake somebody.
func MayWake(msgs []mail.Message) (out []mail.Message) {
	for _, m := range msgs {
		if m.Rings() {
			out = append(out, m)
		}
	}
	return out
}

// Decide looks at what waits. busy is a session that works, quiet one that wants no ring.
func (p *Policy) Decide(now time.Time, waiting []mail.Message, busy, quiet bool) Decision {
	msgs := MayWake(waiting)
	if len(msgs) == 0 || quiet {
		if len(waiting) > 0 {
			return Decision{Outcome: Filtered}
		}
		return Decision{}
	}
	if !p.oldest.IsFor(msgs[0]) {
		p.oldest, p.first, p.Tries, p.Gap = Ring{}.For(msgs[0]), now, 0, minGap
	}
	if due := p.rang.Add(p.Gap); now.Before(due) {
		d := Decision{Again: due.Sub(now)}
		if p.Tries > 0 {
			d.Outcome = Coalesced
		}
		return d
	}
	if since := now.Sub(p.first); busy && !(p.Joins && p.Tries == 0) && since < busyLimit {
		return Decision{Again: min(max(since, busyLook), BusyLook)} // its next hook carries the mail
	}
	return Decision{Ring: true}
}

// Done records a ring for the oldest message; first is the gap behind the first one, 15 s when zero.
func (p *Policy) Done(now time.Time, first time.Duration) {
	p.Tries++
	p.rang = now
	p.Gap = gapAfter(cmp.Or(first, firstGap), p.Tries)
}

// gapAfter is the gap behind so many rings for the same message.
func gapAfter(first time.Duration, tries int) time.Duration {
	if first >= maxGap {
		return first
	}
	return min(first<<min(tries-1, 20), maxGap)
}
