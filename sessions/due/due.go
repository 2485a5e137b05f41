// Package due keeps the time of the next deadline in a file of the root, so that most commands need not look at any message.
package due

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"c2c/inbox"
	"c2c/inbox/atomicfile"
)

// The file's time of change says until when no process needs to look at deadlines. A deadlines.Checker sets it after a look.
//
//	missing, empty, or its time is over   somebody is to look
//	a time ahead                          nobody is to, unless it is more than LookEvery ahead: then a clock was wrong
//
// Only a look makes the time later: it removes the file before it begins, and does not put it back if another process has made
// an empty one meanwhile. A process that stores an earlier deadline then removes the file, or makes an empty one if it is
// missing. So a process may look too early, in any order of these steps and with a kill between any two, and never too late.
// What an older c2c, the original or a killed sender has stored is seen after LookEvery.
const (
	FileName = "owed.due"
	fileText = "The time of this file tells c2c when to look at what messages are owed.\n"

	// LookEvery is the most that the file's time is ahead. It is less than TellAfter, so a plain message needs no look at the file.
	LookEvery = 10 * time.Minute
)

// File is the file in an open root.
type File struct {
	root *atomicfile.Dir
	now  func() time.Time
	log  inbox.Log
}

// Of gives the file of a root, which the caller closes.
func Of(root *atomicfile.Dir, now func() time.Time, log inbox.Log) *File {
	return &File{root, now, log}
}

// UntilLook is for how long nobody need look at what messages are owed; 0: somebody is to look now.
func (f *File) UntilLook() time.Duration {
	at, size, err := f.root.TimeOf(FileName)
	ahead := at.Sub(f.now())
	if err != nil || size == 0 || ahead <= 0 || ahead > LookEvery {
		return 0
	}
	return ahead
}

// LookBy has somebody look at a time, or earlier. What is due then is stored.
func (f *File) LookBy(at time.Time) {
	marked, size, err := f.root.TimeOf(FileName)
	switch {
	case err == nil && (size == 0 || !marked.After(at)):
		return
	case err == nil:
		err = f.root.Remove(FileName)
	case errors.Is(err, fs.ErrNotExist): // somebody may be looking just now
		var empty *os.File
		if empty, err = f.root.Open(FileName, os.O_WRONLY|os.O_CREATE|os.O_EXCL); err == nil {
			err = empty.Close()
		}
	}
	if err != nil && !errors.Is(err, fs.ErrExist) && !errors.Is(err, fs.ErrNotExist) {
		f.log.Warn("what a message is owed may be seen late", "after", LookEvery, "err", err)
	}
}

// Look is one look at what messages are owed.
type Look struct {
	file    *File
	began   time.Time
	removed bool
}

// BeginLook removes the file, so that what is stored meanwhile is not missed. A process that stays passes false for always: then
// the file is removed only when half of its time is over.
func (f *File) BeginLook(always bool) Look {
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
	if err := l.file.root.Mark(FileName, fileText, next); err != nil && !errors.Is(err, fs.ErrExist) {
		l.file.log.Debug("each command looks at what messages are owed", "err", err)
	}
}
