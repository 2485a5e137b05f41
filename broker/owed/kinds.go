package owed

import (
	"cmp"
	"strings"

	"c2c/inbox/mail"
	"c2c/sessions"
)

// These are reasons for a notice to the sender of a message. sessions.Dead is another one: the message is a dead letter.
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
	NoticeAsked = "asked"    // news for which the session has asked, see package notify
)

// kind describes the notices that have one reason in common.
type kind struct {
	reason string
	status string // the reason as c2c status shows it; the id of the notice is made from it
	atOnce bool   // the sender gets the notice even if it just got another one
	rings  bool   // the notice wakes the session: it is not deferrable
	text   texts
	remote texts // replaces text if the receiver is on another machine; may be empty
	why    texts // replaces text if the news has a Why; may be empty
}

// texts has the words about one message, and about several messages to one receiver. Function sentence replaces the names in braces.
type texts struct{ one, several string }

// kinds has a row for each constant above. Callers of Send use other reasons, too, which have no row; such a notice does not ring. If there
// is no row, or the row has no texts, the caller of Send writes the text.
var kinds = [...]kind{
	{reason: Unread, status: Unread, text: texts{
		"{to} has not read your message {what} for {unread}.{state} c2c status {id} tells more.",
		"{to} has not read your messages {what}, the oldest for {unread}.{state} c2c outbox tells more.",
	}, remote: texts{
		"{host} has not confirmed your message {what} to {to} for {unread}. It waits here until that machine is there; c2c status {id} tells more.",
		"{host} has not confirmed your messages {what} to {to}, the oldest for {unread}. They wait here until that machine is there; c2c outbox tells more.",
	}},
	{reason: Refused, status: Refused, text: texts{
		"The client of {to} is set to refuse messages from other sessions, so {to} gets your message {what} in its next turn.",
		"The client of {to} is set to refuse messages from other sessions, so {to} gets your messages {what} in its next turn.",
	}},
	{reason: Ended, status: Ended, atOnce: true, text: texts{
		"The session of {to} has ended without reading your message {what}. It waits until {to} is started again; c2c handover {to} NAME gives its mail to another session.",
		"The session of {to} has ended without reading your messages {what}. They wait until {to} is started again; c2c handover {to} NAME gives its mail to another session.",
	}},
	{reason: EndedUnanswered, status: Ended, text: texts{
		"The session of {to} has ended without an answer to your message {what}. It is reminded when it is started again; until then, ask another session.",
		"The session of {to} has ended without an answer to your messages {what}. It is reminded when it is started again; until then, ask another session.",
	}},
	{reason: Expired, status: Expired, text: texts{
		"{to} did not read your message {what} within {lifetime}. It has expired and is not handed over any more; send it again if it still matters.",
		"{to} did not read your messages {what} in time. They have expired and are not handed over any more; send them again if they still matter.",
	}, remote: texts{
		"{host} has not confirmed your message {what} to {to} within {lifetime}. It has expired and is not handed over any more; send it again if it still matters.",
		"{host} has not confirmed your messages {what} to {to} in time. They have expired and are not handed over any more; send them again if they still matter.",
	}},
	{reason: Unanswered, status: Unanswered, text: texts{
		"{to} has not answered your message {what} within {answertime}; c2c status {id} tells whether it was read.",
		"{to} has not answered your messages {what} in time; c2c status ID tells whether one was read.",
	}},
	{reason: sessions.Dead, status: sessions.Dead, text: texts{
		"Nobody has read your message {what} to {to}, and that session is long gone. c2c dead-letter shows the message.",
		"Nobody has read your messages {what} to {to}, and that session is long gone. c2c dead-letter shows the messages.",
	}, why: texts{
		"Your message {what} to {to} cannot be handed over: {why}. c2c dead-letter shows it.",
		"Your messages {what} to {to} cannot be handed over: {why}. c2c dead-letter shows them.",
	}},
	{reason: NotStored, status: NotStored, text: texts{
		"{host} has not stored {what}: {why}. It is not sent again.",
		"{host} has not stored {what}: {why}. They are not sent again.",
	}},
	{reason: Reminder, status: Reminder, rings: true},
	{reason: NoticeAsked, status: NoticeAsked, rings: true},
}

// kindOf returns the row of a reason, or an empty row if kinds has none.
func kindOf(reason string) kind {
	for _, k := range kinds {
		if k.reason == reason {
			return k
		}
	}
	return kind{}
}

// sentence returns the text about news with one reason about one receiver. The oldest news comes first in the argument.
func sentence(news []News) string {
	n := news[0]
	m, to := n.Message, cmp.Or(n.Session.Alias, n.Message.To)
	_, host, remote := strings.Cut(to, "@")
	k := kindOf(n.Reason)
	words := k.text
	switch {
	case remote && k.remote.one != "":
		words = k.remote
	case n.Why != "" && k.why.one != "":
		words = k.why
	}
	text := words.one
	if len(news) > 1 {
		text = words.several
	}
	var names []string
	for _, one := range news {
		names = append(names, DescribeMessage(one.Message))
	}
	since := func(end float64) string { return Span(mail.FromSeconds(end).Sub(m.Time())) }
	return strings.NewReplacer("{to}", to, "{host}", host, "{what}", strings.Join(names, ", "), "{id}", mail.ShortID(m.ID), "{why}", n.Why,
		"{unread}", Span(UnreadAfter(n.Session, m)), "{state}", unreadWhy(n.Session), "{lifetime}", since(m.ExpiresAt), "{answertime}", since(m.AnswerBy)).Replace(text)
}
