package broker

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"c2c/inbox"
)

// Most commands have nothing to do with what messages are owed. So that they need not read any, the file of this name says by its time
// of change until when nobody has to look. A Keeper writes it behind a look, with the time of the next deadline.
//
//	missing, empty, or its time is over   somebody is to look
//	a time ahead                          nobody is to, unless it is more than lookEvery ahead: then a clock was wrong
//
// Nothing makes the time later but a look, which takes the file away before it begins, and does not put it back if somebody has made
// an empty one meanwhile. Whoever stores something that is due earlier removes the file, or makes an empty one if it is
// missing, behind what is stored. All of this can only make somebody look too early, in any order and with a kill between any
// two steps. What nobody tells of (an older c2c, the original, a sender that was killed in between) is seen after lookEvery.
const (
	dueMark     = "owed.due"
	dueMarkText = "The time of this file tells c2c when to look at what messages are owed.\n"

	// lookEvery is the most that a mark is ahead. It is less than TellAfter, so a plain message needs no look at the mark.
	lookEvery = 10 * time.Minute
)

// untilLook is for how long nobody need look at what messages are owed; 0: somebody is to look now.
func (b *Broker) untilLook() time.Duration {
	at, size, err := b.root.TimeOf(dueMark)
	ahead := at.Sub(b.now())
	if err != nil || size == 0 || ahead <= 0 || ahead > lookEvery {
		return 0
	}
	return ahead
}

// lookBy has somebody look at a time, or earlier. What is due then is stored.
func (b *Broker) lookBy(at time.Time) {
	marked, size, err := b.root.TimeOf(dueMark)
	switch {
	case err == nil && (size == 0 || !marked.After(at)):
		return
	case err == nil:
		err = b.root.Remove(dueMark)
	case errors.Is(err, fs.ErrNotExist): // somebody may be looking just now
		var f *os.File
		if f, err = b.root.Open(dueMark, os.O_WRONLY|os.O_CREATE|os.O_EXCL); err == nil {
			err = f.Close()
		}
	}
	if err != nil && !errors.Is(err, fs.ErrExist) && !errors.Is(err, fs.ErrNotExist) {
		b.log.Warn("what a message is owed may be seen late", "after", lookEvery, "err", err)
	}
}

// announce has somebody look in time at what a message is owed. It is called before the message is stored, or nobody would hear
// of a sender that is killed just then, and again behind that, since somebody may have looked in between. It costs nothing
// when the message is owed nothing within lookEvery.
func (b *Broker) announce(m inbox.Message) {
	now := b.now()
	var first time.Time
	for _, at := range [...]float64{m.ExpiresAt, m.AnswerBy, m.Due} {
		if at > 0 {
			first = earlier(first, inbox.FromSeconds(at))
		}
	}
	if m.TellAfter > 0 {
		first = earlier(first, now.Add(tellAfter(m)))
	}
	if !first.IsZero() && first.Before(now.Add(lookEvery-time.Second)) { // a second: the clock goes on while a message is made
		b.lookBy(first)
	}
}

// marking is what a look does with the mark.
type marking struct {
	b     *Broker
	began time.Time
	anew  bool
}

// beginLook takes the mark away, so that what is stored meanwhile is not missed. A process that stays, whose always is false, does
// so only when half of the mark's time is over.
func (b *Broker) beginLook(always bool) marking {
	m := marking{b, b.now(), always || b.untilLook() < lookEvery/2}
	if m.anew {
		if err := b.root.Remove(dueMark); err != nil && !errors.Is(err, fs.ErrNotExist) {
			m.anew = false
		}
	}
	return m
}

// end says until when nobody need look; the zero time is long.
func (m marking) end(next time.Time) {
	most := m.began.Add(lookEvery)
	if next.IsZero() || next.After(most) {
		next = most
	}
	if !m.anew {
		m.b.lookBy(next)
		return
	}
	if err := m.b.root.Mark(dueMark, dueMarkText, next); err != nil && !errors.Is(err, fs.ErrExist) {
		m.b.log.Debug("each command looks at what messages are owed", "err", err)
	}
}
