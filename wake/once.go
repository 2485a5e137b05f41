package wake

import (
	"time"

	"c2c/inbox"
)

// Due decides for a ringer that lives for one look and remembers through the session's record alone: the
// last ring, and how many there were for the same message. It gives the outcome, and what to ring for when
// that is Rang. Nobody looks again for it: a busy session is rung, and another oldest message never waits.
func Due(now time.Time, waiting []inbox.Message, quiet bool, last Ring, tries int) (n Notice, outcome string) {
	msgs, p := Loud(waiting), policy{}
	again := len(msgs) > 0 && last.Outcome == Rang && last.Oldest == msgs[0].ID
	if again && !last.At.After(now) { // a clock that was set back would keep us silent
		p.oldest, p.rang, p.tries = last.Oldest, last.At, max(tries, 1)
		p.gap = gapAfter(firstGap, p.tries)
	}
	if d := p.decide(now, waiting, false, quiet); !d.ring {
		return n, d.outcome
	}
	return NoticeOf(msgs), Rang
}
