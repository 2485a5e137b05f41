package owed

import (
	"time"

	"c2c/inbox/mail"
	"c2c/sessions"
)

const (
	// TellAfter is how long a message may wait before its sender gets a notice, unless the sender sets a time.
	TellAfter = 30 * time.Minute
	// tellQuiet and tellAbsent replace TellAfter if the receipt has already told the sender why the message may wait: tellQuiet if the
	// receiver does not want to be disturbed, tellAbsent if it was absent, or is on another machine and owes no answer.
	tellQuiet  = 4 * time.Hour
	tellAbsent = 24 * time.Hour
)

// wantsNotice reports whether the sender of m wants a notice if nobody reads m. If the sender sets no time, it gets no notice about an
// ephemeral message, or about one of a kind that only informs.
func wantsNotice(m mail.Message) bool {
	switch {
	case m.From == sessions.SystemAlias || m.TellAfter < 0:
		return false
	case m.TellAfter > 0:
		return true
	}
	return m.Kind != "ack" && m.Kind != "status" && m.Kind != KindSystem && !m.Ephemeral
}

// TellAfterOf returns how long a message may wait before its sender gets a notice.
func TellAfterOf(m mail.Message) time.Duration {
	if m.TellAfter <= 0 {
		return TellAfter
	}
	return time.Duration(min(m.TellAfter, (1000*24*time.Hour).Seconds()) * float64(time.Second))
}

// UnreadAfter returns how long the message m to the receiver s may wait before the sender gets a notice. If s is on another machine, the
// receipt has said whether that machine was there, so a message that asks for no answer may wait long.
func UnreadAfter(s sessions.Session, m mail.Message) time.Duration {
	switch {
	case m.TellAfter > 0:
	case s.State == sessions.Absent && m.ToAbsent, s.State == sessions.Remote && !m.Owes():
		return tellAbsent
	case s.Quiet:
		return tellQuiet
	}
	return TellAfterOf(m)
}

func unreadWhy(s sessions.Session) string {
	switch {
	case s.State == sessions.Absent:
		return " " + s.Alias + " is absent."
	case s.Quiet:
		return " " + s.Alias + " does not want to be disturbed."
	}
	return ""
}
