package owed

import (
	"time"

	"c2c/broker/notice"
	"c2c/inbox/mail"
	"c2c/sessions"
	"c2c/sessions/due"
)

// Announce has somebody look in time at what a message is owed. It is called before the message is stored, or nobody would hear
// of a sender that is killed just then, and again behind that, since somebody may have looked in between. It costs nothing
// when the message is owed nothing within LookEvery.
func Announce(reg *sessions.Registry, m mail.Message) {
	now := reg.Now()
	var first time.Time
	for _, at := range [...]float64{m.ExpiresAt, m.AnswerBy, m.Due} {
		if at > 0 {
			first = sessions.Earlier(first, mail.FromSeconds(at))
		}
	}
	if m.TellAfter > 0 {
		first = sessions.Earlier(first, now.Add(notice.TellAfterOf(m)))
	}
	if !first.IsZero() && first.Before(now.Add(due.LookEvery-time.Second)) { // a second: the clock goes on while a message is made
		reg.Due.LookBy(first)
	}
}
