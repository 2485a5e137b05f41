package owed

import (
	"time"

	"c2c/inbox/mail"
	"c2c/sessions"
)

// Announce makes sure that some process looks at a message's deadlines in time. Call it before the message is stored, because the sender
// may be killed right after the write. Call it again after the write, because a process may have looked between the first call and the
// write. It costs nothing if all deadlines of the message are due.LookEvery or more after the send.
func Announce(reg *sessions.Registry, m mail.Message) {
	now := reg.Now()
	var first time.Time
	for _, at := range [...]float64{m.ExpiresAt, m.AnswerBy, m.Due} {
		if at > 0 {
			first = sessions.Earlier(first, mail.FromSeconds(at))
		}
	}
	if m.TellAfter > 0 {
		first = sessions.Earlier(first, now.Add(TellAfterOf(m)))
	}
	if !first.IsZero() && first.Before(now.Add(sessions.LookEvery-time.Second)) { // a second less: the send was a moment ago
		reg.Due.LookBy(first)
	}
}
