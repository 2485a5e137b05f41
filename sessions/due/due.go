// Package due keeps the time of the next deadline of a root, as the time of one file. Until then no process needs to
// look at mailboxes for deadlines.
package due

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"c2c/inbox"
	"c2c/inbox/atomicfile"
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
	FileName = "owed.due"
	fileText = "The time of this file tells c2c when to look at what messages are owed.\n"

	// LookEvery is the most that a mark is ahead. It is less than TellAfter, so a plain message needs no look at the mark.
	LookEvery = 10 * time.Minute
)

// Mark is that file of an open root. It does not close the root.
type Mark struct {
	root *atomicfile.Dir
	now  func() time.Time
	log  inbox.Log
}

// Of gives the mark of a root.
func Of(root *atomicfile.Dir, now func() time.Time, log inbox.Log) *Mark {
	return &Mark{root, now, log}
}

// UntilLook is for how long nobody need look at what messages are owed; 0: somebody is to look now.
func (k *Mark) UntilLook() time.Duration {
	at, size, err := k.root.TimeOf(FileName)
	ahead := at.Sub(k.now())
	if err != nil || size == 0 || ahead <= 0 || ahead > LookEvery {
		return 0
	}
	return ahead
}

// LookBy has somebody look at a time, or earlier. What is due then is stored.
func (k *Mark) LookBy(at time.Time) {
	marked, size, err := k.root.TimeOf(FileName)
	switch {
	case err == nil && (size == 0 || !marked.After(at)):
		return
	case err == nil:
		err = k.root.Remove(FileName)
	case errors.Is(err, fs.ErrNotExist): // somebody may be looking just now
		var f *os.File
		if f, err = k.root.Open(FileName, os.O_WRONLY|os.O_CREATE|os.O_EXCL); err == nil {
			err = f.Close()
		}
	}
	if err != nil && !errors.Is(err, fs.ErrExist) && !errors.Is(err, fs.ErrNotExist) {
		k.log.Warn("what a message is owed may be seen late", "after", LookEvery, "err", err)
	}
}

// Look is one look at what messages are owed.
type Look struct {
	mark  *Mark
	began time.Time
	anew  bool
}

// BeginLook takes the mark away, so that what is stored meanwhile is not missed. A process that stays, whose always is false, does
// so only when half of the mark's time is over.
func (k *Mark) BeginLook(always bool) Look {
	m := Look{k, k.now(), always || k.UntilLook() < LookEvery/2}
	if m.anew {
		if err := k.root.Remove(FileName); err != nil && !errors.Is(err, fs.ErrNotExist) {
			m.anew = false
		}
	}
	return m
}

// End says until when nobody need look; the zero time is long.
func (m Look) End(next time.Time) {
	most := m.began.Add(LookEvery)
	if next.IsZero() || next.After(most) {
		next = most
	}
	if !m.anew {
		m.mark.LookBy(next)
		return
	}
	if err := m.mark.root.Mark(FileName, fileText, next); err != nil && !errors.Is(err, fs.ErrExist) {
		m.mark.log.Debug("each command looks at what messages are owed", "err", err)
	}
}
