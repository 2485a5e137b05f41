package owed

import (
	"time"

	"c2c/inbox/mail"
	"c2c/sessions"
	"c2c/wake"
)

// These are reasons for a notice to the sender of a message. sessions.Dead is another one: the
// message is a dead letter.
const (
	Unread          = "unread"           // the message is unread for too long
	Refused         = "refused"          // the receiver's person has set the client to refuse messages from others
	Expired         = "expired"          // the message expired unread
	NotStored       = "not stored"       // the receiver's machine refuses the message permanently
	Ended           = "ended"            // the receiver's session has ended
	EndedUnanswered = "ended-unanswered" // the receiver's session has read the message, and has ended without an answer
	Unanswered      = "unanswered"       // no answer has come in time
)

// These are reasons for the notices that ring. All other notices wait for the next turn.
const (
	Reminder    = "reminder" // the session owes an answer
	NoticeAsked = "asked"    // news for which the session has asked, see Request
)

// kind is a row of the table of what is owed: when its time has come, and who is told what.
type kind struct {
	reason string
	status string               // the reason as c2c status shows it; the id of the notice is made from it
	due    func(debt) time.Time // when its time comes; zero: never. Nil: other code finds the cause
	atOnce bool                 // the sender gets the notice even if it just got another one
	rings  bool                 // the notice wakes the session: it is not deferrable
	text   texts                // none: the caller writes the text
	remote texts                // replaces text if the receiver is on another machine; may be empty
	why    texts                // replaces text if the news has a Why; may be empty
}

// kinds has a row for each constant above. Callers of SendNotice use other reasons, too, which have
// no row; such a notice does not ring.
var kinds = [...]kind{
	{reason: Unread, status: Unread, due: unreadAt, text: texts{
		"{to} has not read your message {what} for {unread}.{state} c2c status {id} tells more.",
		"{to} has not read your messages {what}, the oldest for {unread}.{state} c2c outbox tells more.",
	}, remote: texts{
		"{host} has not confirmed your message {what} to {to} for {unread}. It waits here until that machine is there; c2c status {id} tells more.",
		"{host} has not confirmed your messages {what} to {to}, the oldest for {unread}. They wait here until that machine is there; c2c outbox tells more.",
	}},
	{reason: Refused, status: Refused, due: refusedAt, text: texts{
		"The client of {to} is set to refuse messages from other sessions, so {to} gets your message {what} in its next turn.",
		"The client of {to} is set to refuse messages from other sessions, so {to} gets your messages {what} in its next turn.",
	}},
	{reason: Ended, status: Ended, due: endedAt, atOnce: true, text: texts{
		"The session of {to} has ended without reading your message {what}. It waits until {to} is started again; c2c handover {to} NAME gives its mail to another session.",
		"The session of {to} has ended without reading your messages {what}. They wait until {to} is started again; c2c handover {to} NAME gives its mail to another session.",
	}},
	{reason: EndedUnanswered, status: Ended, due: endedUnansweredAt, text: texts{
		"The session of {to} has ended without an answer to your message {what}. It is reminded when it is started again; until then, ask another session.",
		"The session of {to} has ended without an answer to your messages {what}. It is reminded when it is started again; until then, ask another session.",
	}},
	{reason: Expired, status: Expired, due: expiredAt, atOnce: true, text: texts{
		"{to} did not read your message {what} within {lifetime}. It has expired and is not handed over any more; send it again if it still matters.",
		"{to} did not read your messages {what} in time. They have expired and are not handed over any more; send them again if they still matter.",
	}, remote: texts{
		"{host} has not confirmed your message {what} to {to} within {lifetime}. It has expired and is not handed over any more; send it again if it still matters.",
		"{host} has not confirmed your messages {what} to {to} in time. They have expired and are not handed over any more; send them again if they still matter.",
	}},
	{reason: Unanswered, status: Unanswered, due: unansweredAt, atOnce: true, text: texts{
		"{to} has not answered your message {what} within {answertime}; c2c status {id} tells whether it was read.",
		"{to} has not answered your messages {what} in time; c2c status ID tells whether one was read.",
	}},
	{reason: sessions.Dead, status: sessions.Dead, atOnce: true, text: texts{
		"Nobody has read your message {what} to {to}, and that session is long gone. c2c history --dead shows the message.",
		"Nobody has read your messages {what} to {to}, and that session is long gone. c2c history --dead shows the messages.",
	}, why: texts{
		"Your message {what} to {to} cannot be handed over: {why}. c2c history --dead shows it.",
		"Your messages {what} to {to} cannot be handed over: {why}. c2c history --dead shows them.",
	}},
	{reason: NotStored, status: NotStored, atOnce: true, text: texts{
		"{host} has not stored {what}: {why}. It is not sent again.",
		"{host} has not stored {what}: {why}. They are not sent again.",
	}},
	{reason: Reminder, due: reminderAt, rings: true},
	{reason: GivenUp, due: givenUpAt}, // nobody is told: the obligation ends
	{reason: NoticeAsked, rings: true},
}

// texts has the words about one message, and about several messages to one receiver. The function
// sentence replaces the names in braces.
type texts struct{ one, several string }

// kindOf returns the row of a reason, or an empty row if kinds has none.
func kindOf(reason string) kind {
	for _, k := range kinds {
		if k.reason == reason {
			return k
		}
	}
	return kind{}
}

// debt is a message of which something is owed: somebody is to read it, or to answer it.
type debt struct {
	mail.Message
	now      time.Time
	where    place
	to       sessions.Session // who is to read or to answer it; empty: it is not registered
	does     sessions.State   // what it does, for a message that was handed over
	gone     time.Time        // when it was first seen absent; zero: it is not, or the caller looks only once
	told     bool             // the sender knows that there was no answer at the time AnswerBy
	reminded bool             // the session was reminded of the answer
}

// place says where a debt was found.
type place int

const (
	inMailbox place = iota // nobody has taken it
	inArchive              // the model has not answered since the message was handed over
	inRecord               // in a record of an answer that is due
)

// due returns the reasons whose time has come, and when that of the next one comes; zero: none.
func (d debt) due() (reasons []string, next time.Time) {
	for _, k := range kinds {
		if k.due == nil {
			continue
		}
		switch at := k.due(d); {
		case at.IsZero():
		case at.After(d.now):
			next = sessions.Earlier(next, at)
		default:
			reasons = append(reasons, k.reason)
		}
	}
	return reasons, next
}

const (
	// endedAfter is how long a session must be gone until it counts as ended. Before that, its
	// client may be restarting.
	endedAfter = time.Minute
	// turnAgain is when to look again at the unanswered messages of a session that is in a turn.
	turnAgain = time.Minute
	// overdueLimit is how long an overdue obligation is kept.
	overdueLimit = 30 * 24 * time.Hour
)

// sent returns when the message was sent. A time in the future counts as now.
func (d debt) sent() time.Time { return sessions.Earlier(d.Time(), d.now) }

// isRead reports whether nobody needs to read the message any more.
func (d debt) isRead() bool { return d.where == inRecord || d.Expired(mail.Seconds(d.now)) }

func unreadAt(d debt) time.Time {
	at := d.sent().Add(UnreadAfter(d.to, d.Message))
	switch {
	case d.isRead(), d.Deferrable && d.TellAfter <= 0: // the sender of a deferrable message wants it to wait
		return time.Time{}
	case d.to.State == sessions.Absent && !d.ToAbsent: // the sender is told that the session has ended, and not this
		return time.Time{}
	case d.does == sessions.Busy || d.does == sessions.Waiting:
		// No hook tells that the model has answered before its tool has ended, which may stand at a
		// dialog.
		return later(at, d.now.Add(turnAgain))
	}
	return at
}

// refusedAt is not for a message that was handed over, whatever became of the ring.
func refusedAt(d debt) time.Time {
	if r := d.to.LastRing; d.where == inMailbox && r.Outcome == wake.Refused && !d.isRead() && !r.At.Before(d.Time()) && len(wake.MayWake([]mail.Message{d.Message})) > 0 {
		return r.At
	}
	return time.Time{}
}

func endedAt(d debt) time.Time {
	if d.isRead() || d.to.State != sessions.Absent || d.ToAbsent {
		return time.Time{}
	}
	at := d.sent().Add(TellAfterOf(d.Message))
	if !d.gone.IsZero() {
		at = sessions.Earlier(d.gone.Add(endedAfter), at)
	}
	return at
}

func expiredAt(d debt) time.Time {
	if d.where != inMailbox || d.ExpiresAt == 0 {
		return time.Time{}
	}
	return mail.FromSeconds(d.ExpiresAt)
}

func unansweredAt(d debt) time.Time {
	if d.where != inRecord || !awaitedHere(d.Message) || d.told {
		return time.Time{}
	}
	return mail.FromSeconds(d.AnswerBy)
}

func endedUnansweredAt(d debt) time.Time {
	if d.where != inRecord || !d.Owes() || d.to.State != sessions.Absent {
		return time.Time{}
	}
	return mail.FromSeconds(d.Due)
}

// reminderAt is only for a session that may read a reminder now. A sender outside gets only
// answers.
func reminderAt(d debt) time.Time {
	if d.where != inRecord || !d.Owes() || d.reminded || d.to.ID == "" || d.to.State == sessions.Absent || d.to.State == sessions.External {
		return time.Time{}
	}
	return mail.FromSeconds(d.Due)
}

func givenUpAt(d debt) time.Time {
	if d.where != inRecord || !d.Owes() {
		return time.Time{}
	}
	return mail.FromSeconds(d.Due).Add(overdueLimit)
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
