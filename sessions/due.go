package sessions

import (
	"errors"
	"io/fs"
	"os"
	"time"
)

// Most commands have nothing to do with what messages are owed. So that they need not read any, the file of this name says by its time
// of change until when nobody has to look. A Keeper writes it behind a look, with the time of the next deadline.
//
//	missing, empty, or its time is over   somebody is to look
//	a time ahead                          nobody is to, unless it is more than LookEvery ahead: then a clock was wrong
//
// Nothing makes the time later but a look, which takes the file away before it begins, and does not put it back if somebody has made
// an empty one meanwhile. Whoever stores something that is due earlier removes the file, or makes an empty one if it is
// missing, behind what is stored. All of this can only make somebody look too early, in any order and with a kill between any
// two steps. What nobody tells of (an older c2c, the original, a sender that was killed in between) is seen after LookEvery.
const (
	DueMark     = "owed.due"
	dueMarkText = "The time of this file tells c2c when to look at what messages are owed.\n"

	// LookEvery is the most that a mark is ahead. It is less than TellAfter, so a plain message needs no look at the mark.
	LookEvery = 10 * time.Minute
)

// UntilLook is for how long nobody need look at what messages are owed; 0: somebody is to look now.
func (reg *Registry) UntilLook() time.Duration {
	at, size, err := reg.root.TimeOf(DueMark)
	ahead := at.Sub(reg.Now())
	if err != nil || size == 0 || ahead <= 0 || ahead > LookEvery {
		return 0
	}
	return ahead
}

// LookBy has somebody look at a time, or earlier. What is due then is stored.
func (reg *Registry) LookBy(at time.Time) {
	marked, size, err := reg.root.TimeOf(DueMark)
	switch {
	case err == nil && (size == 0 || !marked.After(at)):
		return
	case err == nil:
		err = reg.root.Remove(DueMark)
	case errors.Is(err, fs.ErrNotExist): // somebody may be looking just now
		var f *os.File
		if f, err = reg.root.Open(DueMark, os.O_WRONLY|os.O_CREATE|os.O_EXCL); err == nil {
			err = f.Close()
		}
	}
	if err != nil && !errors.Is(err, fs.ErrExist) && !errors.Is(err, fs.ErrNotExist) {
		reg.Log.Warn("what a message is owed may be seen late", "after", LookEvery, "err", err)
	}
}

// marking is what a look does with the mark.
type marking struct {
	reg   *Registry
	began time.Time
	anew  bool
}

// BeginLook takes the mark away, so that what is stored meanwhile is not missed. A process that stays, whose always is false, does
// so only when half of the mark's time is over.
func (reg *Registry) BeginLook(always bool) marking {
	m := marking{reg, reg.Now(), always || reg.UntilLook() < LookEvery/2}
	if m.anew {
		if err := reg.root.Remove(DueMark); err != nil && !errors.Is(err, fs.ErrNotExist) {
			m.anew = false
		}
	}
	return m
}

// End says until when nobody need look; the zero time is long.
func (m marking) End(next time.Time) {
	most := m.began.Add(LookEvery)
	if next.IsZero() || next.After(most) {
		next = most
	}
	if !m.anew {
		m.reg.LookBy(next)
		return
	}
	if err := m.reg.root.Mark(DueMark, dueMarkText, next); err != nil && !errors.Is(err, fs.ErrExist) {
		m.reg.Log.Debug("each command looks at what messages are owed", "err", err)
	}
}
