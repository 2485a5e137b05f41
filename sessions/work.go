package sessions

import (
	"strings"
	"time"

	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
)

// The note <sid>.work says when the session's client last reported work. If the client also reports
// each tool call, workTools follows the time.
const (
	WorkEnd   = ".work"
	workTools = " t"
)

func WorkName(sid string) string { return sid + WorkEnd }

// Work is what a session's client has reported about its work.
type Work struct {
	at    time.Time // zero: it has not worked
	Tools bool      // the client reports tool calls, so a turn without tool calls did no work
}

// Since reports whether the session has worked since a message was sent.
func (w Work) Since(sent time.Time) bool { return !w.at.IsZero() && !w.at.Before(sent) }

// WorkOf reads the note <sid>.work. A time in the future comes from a wrong clock, and does not
// count.
func WorkOf(reg *Registry, sid string) Work {
	text, err := reg.Dir().ReadNote(WorkName(sid))
	if err != nil {
		return Work{}
	}
	text, tools := strings.CutSuffix(text, workTools)
	at := parseTime(text)
	if at.After(reg.Now()) {
		at = time.Time{}
	}
	return Work{at, tools}
}

// SawWork records that a session has worked: it called a tool other than c2c's, or a person has
// written to it.
func SawWork(reg *Registry, sid string, byTool bool) error {
	return setWork(reg, sid, Work{reg.Now(), byTool || WorkOf(reg, sid).Tools})
}

// SeesTools records that a session's client reports tool calls. The call that showed this does not
// count as work.
func SeesTools(reg *Registry, sid string) error {
	w := WorkOf(reg, sid)
	if w.Tools {
		return nil
	}
	w.Tools = true
	return setWork(reg, sid, w)
}

func setWork(reg *Registry, sid string, w Work) error {
	text := timeText(w.at)
	if w.Tools {
		text += workTools
	}
	return reg.Dir().WriteNote(WorkName(sid), text)
}

// IsCalm reports whether the session has worked, and its model answered, since mail was last handed
// to it.
func IsCalm(reg *Registry, sid string) bool {
	_, _, err := reg.Dir().TimeOf(inbox.CalmName(sid))
	return err == nil
}

// EndCalm makes the session's hooks report its next work and its model's next answer.
func EndCalm(reg *Registry, sid string) error {
	return atomicfile.UnlessAbsent(reg.Dir().Remove(inbox.CalmName(sid)))
}

// MarkCalm ends the reports of a session's hooks if its client has reported all that c2c waits for.
func MarkCalm(reg *Registry, sid string) error {
	box, err := reg.Mailbox(sid)
	if err != nil {
		return err
	}
	return box.Archive().MarkCalm(func(newest inbox.ArchiveRecord) bool {
		return WorkOf(reg, sid).Since(newest.Time()) && !Unanswered(reg, sid, newest.DrainedBy, mail.FromSeconds(newest.DrainedAt))
	})
}
