package sessions

import (
	"errors"
	"io/fs"
	"time"
)

// The file <sid>.work records when a session worked. Its modification time is the time at which the
// session's client last reported work. The file has one byte if the client also reports each tool
// call. It is not synced, so a power cut may lose the last report.
const (
	WorkEnd  = ".work"
	workTool = "t"
)

func WorkName(sid string) string { return sid + WorkEnd }

// noWork is the file's time until the session works.
var noWork = time.Unix(1, 0)

// Work is what a session's client has reported about its work.
type Work struct {
	at    time.Time
	Tools bool // the client reports tool calls, so a turn without tool calls did no work
}

// Since reports whether the session has worked since a message was sent.
func (w Work) Since(sent time.Time) bool { return !w.at.IsZero() && !w.at.Before(sent) }

// WorkOf reads the file <sid>.work. A time in the future comes from a wrong clock: it does not
// count, and is reset, because otherwise the next work would not be recorded.
func WorkOf(reg *Registry, sid string) Work {
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

// SawWork records that a session has worked: it called a tool other than c2c's, or a person has
// written to it.
func SawWork(reg *Registry, sid string, byTool bool) error {
	_, size, err := reg.Dir().TimeOf(WorkName(sid))
	if errors.Is(err, fs.ErrNotExist) || err == nil && size == 0 && byTool {
		err = makeWork(reg, sid, byTool)
	}
	if err != nil {
		return err
	}
	return reg.Dir().Touch(WorkName(sid), reg.Now())
}

// SeesTools records that a session's client reports tool calls. The call that showed this does not
// count as work.
func SeesTools(reg *Registry, sid string) error {
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
	return reg.Dir().Touch(WorkName(sid), at) // the write has changed the time
}

func makeWork(reg *Registry, sid string, tools bool) error {
	mark := ""
	if tools {
		mark = workTool
	}
	return reg.Dir().Log(WorkName(sid), []byte(mark))
}
