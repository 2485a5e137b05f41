package notice

import (
	"time"

	"c2c/inbox/mail"
	"c2c/sessions"
)

const (
	// TellAfter is how long a message may wait before its sender is told, unless the sender says otherwise.
	TellAfter = 30 * time.Minute
	// tellQuiet and tellAbsent are how long, where its sender knows why: the receiver does not want to be disturbed, or was
	// absent already when the message was sent, and the receipt said so.
	tellQuiet  = 4 * time.Hour
	tellAbsent = 24 * time.Hour
)

// wantsNotice says whether the sender of a message wants to know that it was not read. Without a word of the sender's it does
// not for a kind that only informs, and for one that need not be kept.
func wantsNotice(m mail.Message) bool {
	switch {
	case m.From == sessions.SystemAlias || m.TellAfter < 0:
		return false
	case m.TellAfter > 0:
		return true
	}
	return m.Kind != "ack" && m.Kind != "status" && m.Kind != KindSystem && !m.Ephemeral
}

// TellAfterOf is how long a message may wait before its sender is told.
func TellAfterOf(m mail.Message) time.Duration {
	if m.TellAfter <= 0 {
		return TellAfter
	}
	return time.Duration(min(m.TellAfter, (1000*24*time.Hour).Seconds()) * float64(time.Second))
}

// UnreadAfter is how long it may wait before its sender is told that its receiver has not read it.
func UnreadAfter(s sessions.Session, m mail.Message) time.Duration {
	switch {
	case m.TellAfter > 0:
	case s.State == sessions.Absent && m.ToAbsent:
		return tellAbsent
	case s.Quiet:
		return tellQuiet
	}
	return TellAfterOf(m)
}

// Unanswered is the reason when an answer has not come in time.
const Unanswered = "unanswered"
