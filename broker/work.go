package broker

import (
	"errors"
	"io/fs"
	"time"
)

// The work of a session is <sid>.work: the file's time is when its client last told of work, and it has a byte when the
// client also tells of each tool call. Nothing of it is synced: a power cut may forget that somebody has worked.
const (
	workEnd  = ".work"
	workTool = "t"
)

func workName(sid string) string { return sid + workEnd }

// noWork is the time of a file that was made before its session has worked.
var noWork = time.Unix(1, 0)

// work is what a session's client has told of its work.
type work struct {
	at    time.Time
	tools bool // the client tells of tool calls, so a turn without any was idle
}

// since says whether the session has worked since a message was sent.
func (w work) since(sent time.Time) bool { return !w.at.IsZero() && !w.at.Before(sent) }

// workOf reads it. A time in the future is of a clock that was wrong: it counts for nothing, and is taken back, or the next
// work would not be told.
func (b *Broker) workOf(sid string) work {
	at, size, err := b.root.TimeOf(workName(sid))
	if err != nil {
		return work{}
	}
	if at.After(b.now()) {
		b.root.Touch(workName(sid), noWork)
		at = noWork
	}
	return work{at, size > 0}
}

// SawWork records that a session has worked: by a tool call that is none of c2c's, or because a person has written to it.
func (b *Broker) SawWork(sid string, byTool bool) error {
	_, size, err := b.root.TimeOf(workName(sid))
	if errors.Is(err, fs.ErrNotExist) || err == nil && size == 0 && byTool {
		err = b.makeWork(sid, byTool)
	}
	if err != nil {
		return err
	}
	return b.root.Touch(workName(sid), b.now())
}

// SeesTools records that a session's client tells of tool calls, though this one was no work.
func (b *Broker) SeesTools(sid string) error {
	at, size, err := b.root.TimeOf(workName(sid))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		at = noWork
	case err != nil || size > 0:
		return err
	}
	if err := b.makeWork(sid, true); err != nil {
		return err
	}
	return b.root.Touch(workName(sid), at) // writing has changed it
}

func (b *Broker) makeWork(sid string, tools bool) error {
	mark := ""
	if tools {
		mark = workTool
	}
	return b.root.Log(workName(sid), []byte(mark))
}
