package wake

import (
	"time"

	"c2c/inbox/mail"
)

// DecideOnce decides whether a process that checks once and ends, such as a hook, is to ring. The
// argument last is the newest ring in the session's record. DecideOnce returns the ring to record,
// without a method, and the notice to send if the outcome is Rang. It decides for a ring even if
// the session is busy, and at once for a new message, because no process checks again later.
func DecideOnce(now time.Time, waiting []mail.Message, quiet bool, last Ring) (r Ring, n Notice) {
	msgs, p := MayWake(waiting), Policy{}
	again := len(msgs) > 0 && last.Outcome == Rang && last.IsFor(msgs[0])
	if again && !last.At.After(now) { // if the clock was set back, ring anyway
		p.oldest, p.rang, p.Tries = last, last.At, max(last.Tries, 1)
		p.Gap = gapAfter(firstGap, p.Tries)
	}
	r = Ring{At: now, Outcome: Rang, Count: len(waiting)}
	if d := p.Decide(now, waiting, false, quiet); !d.Ring {
		if r.Outcome = d.Outcome; len(waiting) > 0 {
			r = r.For(waiting[0])
		}
		return r, n
	}
	r = r.For(msgs[0])
	if r.Tries = 1; last.IsFor(msgs[0]) {
		r.Tries += last.Tries
	}
	return r, NoticeOf(msgs)
}
