package deadlines

import (
	"time"

	"c2c/broker/owed"
	"c2c/inbox/mail"
	"c2c/sessions"
)

const (

	// clockCalm is how long the Checker does nothing after the clock has jumped ahead, because the clock may be set back again. After a
	// machine has slept, this pause also gives its sessions time to read.
	clockCalm = 10 * time.Minute
	// maxFuture bounds how many messages from the future a Checker remembers.
	maxFuture = 10_000
)

// sentAt shifts all times of the message m, as if m had been sent at the time in the argument sent.
func sentAt(m mail.Message, sent time.Time) mail.Message {
	ahead := m.TS - mail.Seconds(sent)
	m.TS -= ahead
	for _, at := range []*float64{&m.Due, &m.AnswerBy, &m.ExpiresAt} {
		if *at > 0 {
			*at -= ahead
		}
	}
	return m
}

// clock finds out that the system's clock was set, or is wrong.
type clock struct {
	last   time.Time                      // the time of the last look
	calm   time.Time                      // until this time the Checker does nothing
	future map[mail.Fingerprint]time.Time // messages with a send time in the future, and when each was first seen
	// Elapsed returns the time between two looks. It uses a clock that is never set, and that stops while the machine sleeps.
	Elapsed func(from, to time.Time) time.Duration
}

func newClock() clock {
	return clock{future: map[mail.Fingerprint]time.Time{}, Elapsed: func(from, to time.Time) time.Duration { return to.Sub(from) }}
}

// begin must be called with the time of each look. If back is true, the clock was set back, and all remembered times are wrong.
func (c *clock) begin(now time.Time) (back bool) {
	back = sessions.IsFuture(c.last, now)
	switch {
	case back:
		c.calm = time.Time{}
	case !c.last.IsZero() && now.Round(0).Sub(c.last.Round(0))-c.Elapsed(c.last, now) > sessions.ClockSlack:
		c.calm = now.Add(clockCalm)
	}
	c.last = now
	return back
}

// waits reports whether the Checker must do nothing, because the clock has just jumped ahead.
func (c *clock) waits(now time.Time) bool { return now.Before(c.calm) }

// corrected returns a message with correct times if it was sent while the clock was ahead: the times then count from the moment when the
// Checker first saw the message. If once is set, the caller is a command that looks only once, so it cannot know this moment. It
// assumes that the message has waited so long that its sender gets a notice.
func (c *clock) corrected(m mail.Message, now time.Time, once bool) mail.Message {
	if !sessions.IsFuture(m.Time(), now) {
		return m
	}
	if once {
		m.TS = mail.Seconds(now.Add(-owed.TellAfterOf(m))) // ExpiresAt stays: a wrong guess would remove the message
		return m
	}
	key := m.Fingerprint()
	first, seen := c.future[key]
	if !seen {
		if first = now; len(c.future) >= maxFuture {
			clear(c.future)
		}
		c.future[key] = now
	}
	return sentAt(m, first)
}
