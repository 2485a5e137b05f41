// This part keeps the time of the next deadline in a note in the root, so that most commands need
// not look at any message.

package sessions

import (
	"errors"
	"io/fs"
	"time"

	"c2c/inbox"
	"c2c/internal/atomicfile"
)

// The note says when a process must next check the deadlines, in nanoseconds since 1970. An
// owed.Checker writes it after each check, which is called a look here.
//
//	missing, or its time is over   a process must look
//	a time ahead                   no process must look; but more than LookEvery ahead, a clock was wrong, and a process must look
//
// Only a look makes the time later. A look first removes the note. At its end it makes the note
// again, unless another process has made one with the time 0 meanwhile. A process that stores an
// earlier deadline removes the note. If there is none, it makes one with the time 0; if the look
// has made its note just before, it removes that. So a process may look too early but never too
// late, in any order of these steps, and also if a process is killed between two steps. Mail of a
// killed sender is noticed after LookEvery at the latest.
const (
	FileName = "owed.due"

	// LookEvery bounds how far ahead the time may be. It is less than owed.TellAfter, so a message
	// without a deadline of its own needs no earlier look.
	LookEvery = 10 * time.Minute
)

// DueFile is the note owed.due of an open root.
type DueFile struct {
	root *atomicfile.Dir
	now  func() time.Time
	log  inbox.Log
}

// UntilLook returns how long no process needs to look at deadlines; 0: look now.
func (f *DueFile) UntilLook() time.Duration {
	at, err := f.root.ReadTime(FileName)
	ahead := at.Sub(f.now())
	if err != nil || ahead <= 0 || ahead > LookEvery {
		return 0
	}
	return ahead
}

// LookBy makes some process look at this time, or earlier. Store the deadline first.
func (f *DueFile) LookBy(at time.Time) {
	next, err := f.root.ReadTime(FileName)
	switch {
	case err == nil && !next.After(at):
		return
	case err == nil:
		err = f.root.Remove(FileName)
	case errors.Is(err, fs.ErrNotExist): // a process may be looking just now
		if err = f.root.MakeNote(FileName, atomicfile.TimeText(time.Time{})); errors.Is(err, fs.ErrExist) { // its look has ended
			err = f.root.Remove(FileName)
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		f.log.Warn("a deadline may be noticed late", "after", LookEvery, "err", err)
	}
}

// Look is one check of the deadlines in a root.
type Look struct {
	file    *DueFile
	began   time.Time
	removed bool
}

// BeginLook removes the note, so that deadlines stored during the look are not missed. If always is
// false, as in a long-lived process, the note is removed only if less than half of LookEvery is
// left.
func (f *DueFile) BeginLook(always bool) Look {
	l := Look{f, f.now(), always || f.UntilLook() < LookEvery/2}
	if l.removed {
		if err := f.root.Remove(FileName); err != nil && !errors.Is(err, fs.ErrNotExist) {
			l.removed = false
		}
	}
	return l
}

// End records the next deadline; zero means that none is known.
func (l Look) End(next time.Time) {
	most := l.began.Add(LookEvery)
	if next.IsZero() || next.After(most) {
		next = most
	}
	if !l.removed {
		l.file.LookBy(next)
		return
	}
	if err := l.file.root.MakeNote(FileName, atomicfile.TimeText(next)); err != nil && !errors.Is(err, fs.ErrExist) {
		l.file.log.Debug("each command checks deadlines", "err", err)
	}
}
