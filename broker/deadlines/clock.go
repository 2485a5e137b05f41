package deadlines

import (
	"time"

	"c2c/broker/notice"
	"c2c/inbox/mail"
	"c2c/sessions"
)

const (

	// clockCalm is for how long nothing is told or taken away when the clock has gone ahead by itself: it may be set back.
	// When a machine has slept, its sessions have some time then to read.
	clockCalm = 10 * time.Minute
	// maxFuture bounds of how many messages a Checker remembers when it has seen them first.
	maxFuture = 10_000
)

// sentAt counts the times of a message anew, as if it had been sent then.
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

// clock is what a Checker knows of the clock.
type clock struct {
	last   time.Time                      // when it looked last
	calm   time.Time                      // until then it acts on nothing
	future map[mail.Fingerprint]time.Time // when it saw a message first that was sent later than that
	// elapsed is the time between two looks by a clock that nobody sets, which stands still while the machine sleeps.
	Elapsed func(from, to time.Time) time.Duration
}

func newClock() clock {
	return clock{future: map[mail.Fingerprint]time.Time{}, Elapsed: func(from, to time.Time) time.Duration { return to.Sub(from) }}
}

// begin is told the time of each look. It says whether the clock was set back, so that no time that is remembered is right.
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

// waits says whether nothing is to be done, because the clock has just gone ahead.
func (c *clock) waits(now time.Time) bool { return now.Before(c.calm) }

// of gives a message with times that can be right: one that was sent while the clock was ahead counts from when it was seen
// first. A command, which looks once, has seen nothing before: for it the message has waited long enough.
func (c *clock) of(m mail.Message, now time.Time, once bool) mail.Message {
	if !sessions.IsFuture(m.Time(), now) {
		return m
	}
	if once {
		m.TS = mail.Seconds(now.Add(-notice.TellAfterOf(m))) // it expires as it says: nobody knows how much of its time is over
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
