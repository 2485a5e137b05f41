package turns

import (
	"errors"
	"io/fs"
	"time"

	"c2c/sessions"
)

// The work of a session is <sid>.work: the file's time is when its client last told of work, and it has a byte when the
// client also tells of each tool call. Nothing of it is synced: a power cut may forget that somebody has worked.
const (
	WorkEnd  = ".work"
	workTool = "t"
)

func WorkName(sid string) string { return sid + WorkEnd }

// noWork is the time of a file that was made before its session has worked.
var noWork = time.Unix(1, 0)

// Work is what a session's client has told of its work.
type Work struct {
	at    time.Time
	Tools bool // the client tells of tool calls, so a turn without any was idle
}

// Since says whether the session has worked since a message was sent.
func (w Work) Since(sent time.Time) bool { return !w.at.IsZero() && !w.at.Before(sent) }

// WorkOf reads it. A time in the future is of a clock that was wrong: it counts for nothing, and is taken back, or the next
// work would not be told.
func WorkOf(reg *sessions.Registry, sid string) Work {
	at, size, err := reg.Dir().TimeOf(WorkName(sid))
	if err != nil {
		return Work{}
	}
	if at.After(reg.Now()) {
		reg.Dir().Touch(WorkName(sid), noWork)
		at = noWork
	}
	return Work{at, size > 0}
}

// SawWork records that a session has worked: by a tool call that is none of c2c's, or because a person has written to it.
func SawWork(reg *sessions.Registry, sid string, byTool bool) error {
	_, size, err := reg.Dir().TimeOf(WorkName(sid))
	if errors.Is(err, fs.ErrNotExist) || err == nil && size == 0 && byTool {
		err = makeWork(reg, sid, byTool)
	}
	if err != nil {
		return err
	}
	return reg.Dir().Touch(WorkName(sid), reg.Now())
}

// SeesTools records that a session's client tells of tool calls, though this one was no work.
func SeesTools(reg *sessions.Registry, sid string) error {
	at, size, err := reg.Dir().TimeOf(WorkName(sid))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		at = noWork
	case err != nil || size > 0:
		return err
	}
	if err := makeWork(reg, sid, true); err != nil {
		return err
	}
	return reg.Dir().Touch(WorkName(sid), at) // writing has changed it
}

func makeWork(reg *sessions.Registry, sid string, tools bool) error {
	mark := ""
	if tools {
		mark = workTool
	}
	return reg.Dir().Log(WorkName(sid), []byte(mark))
}
