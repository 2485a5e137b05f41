package wake

import (
	"cmp"
	"slices"
	"time"

	"c2c/inbox/mail"
)

const (
	firstGap   = 15 * time.Second // the time from the first ring for a message to the second; then the time doubles
	maxGap     = 10 * time.Minute // the greatest time between two rings: the time does not double beyond it
	minGap     = time.Second / 2  // the least time between any two rings, so that a burst of messages causes only a few rings
	busyLook   = time.Second / 10 // the first time between two checks of a busy session with mail, because its turn may end soon
	BusyLook   = 2 * time.Second  // the longest time between two such checks: the time doubles from busyLook on
	RefusedGap = maxGap           // the pause after a ring that a person's settings refuse or hold
	busyLimit  = 5 * time.Minute  // c2c rings a busy session all the same if its oldest message has waited for so long
)

// Policy decides when to ring one session. It remembers the oldest message of the last decision. If
// another message is the oldest at the next decision, the former one does not wait any more, or a
// hook has it in hand and may give it back. So no caller has to report that.
type Policy struct {
	rung
	former []rung    // of the last messages that were the oldest before, in case that they wait again
	rang   time.Time // the time of the last ring, for any message
	Joins  bool      // a ring can join the running turn: ring a busy session once for each message
}

// rung is what a Policy knows of a message that is, or was, the oldest.
type rung struct {
	oldest Ring          // its From and Oldest name the message
	first  time.Time     // when Decide saw this message first
	Gap    time.Duration // the least time before the next ring
	Tries  int           // the number of rings for it
}

// maxFormer bounds Policy.former.
const maxFormer = 8

// turnTo makes m the oldest message.
func (p *Policy) turnTo(m mail.Message, now time.Time) {
	if p.Tries > 0 {
		p.former = append(p.former[max(0, len(p.former)+1-maxFormer):], p.rung)
	}
	p.rung = rung{oldest: Ring{}.For(m), first: now, Gap: minGap}
	if i := slices.IndexFunc(p.former, func(r rung) bool { return r.oldest.IsFor(m) }); i >= 0 {
		p.rung = p.former[i]
		p.former = slices.Delete(p.former, i, i+1)
	}
}

// Decision is the answer of Policy.Decide.
type Decision struct {
	Ring    bool
	Outcome string        // why there is no ring; empty: nothing to record
	Again   time.Duration // when to decide again; 0: not before something changes
}

// MayWake returns the messages in msgs that may wake a session.
func MayWake(msgs []mail.Message) (out []mail.Message) {
	for _, m := range msgs {
		if m.Rings() {
			out = append(out, m)
		}
	}
	return out
}

// Decide decides whether to ring for the messages that wait. If busy is true, the session works; if
// quiet is true, it wants no ring.
func (p *Policy) Decide(now time.Time, waiting []mail.Message, busy, quiet bool) Decision {
	msgs := MayWake(waiting)
	if len(msgs) == 0 || quiet {
		if len(waiting) > 0 {
			return Decision{Outcome: Filtered}
		}
		return Decision{}
	}
	if !p.oldest.IsFor(msgs[0]) {
		p.turnTo(msgs[0], now)
	}
	if due := p.rang.Add(p.Gap); now.Before(due) {
		d := Decision{Again: due.Sub(now)}
		if p.Tries > 0 {
			d.Outcome = Coalesced
		}
		return d
	}
	if since := now.Sub(p.first); busy && !(p.Joins && p.Tries == 0) && since < busyLimit {
		return Decision{Again: min(max(since, busyLook), BusyLook)} // the session's next hook brings the mail
	}
	return Decision{Ring: true}
}

// Done records a ring for the oldest message. The argument first is the gap after the first ring; 0
// means 15 s.
func (p *Policy) Done(now time.Time, first time.Duration) {
	p.Tries++
	p.rang = now
	p.Gap = gapAfter(cmp.Or(first, firstGap), p.Tries)
}

// gapAfter returns the least time to the next ring, after the given number of rings for the same
// message.
func gapAfter(first time.Duration, tries int) time.Duration {
	if first >= maxGap {
		return first
	}
	return min(first<<min(tries-1, 20), maxGap)
}
