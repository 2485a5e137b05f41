package notice

import (
	"cmp"
	"fmt"
	"strings"

	"c2c/inbox/mail"
	"c2c/sessions"
)

// Reasons for a notice to the sender of a message. sessions.Dead is another one.
const (
	Unread          = "unread"           // it is unread for too long
	Refused         = "refused"          // the receiver's person has its client refuse messages from others
	Expired         = "expired"          // it expired unread
	NotStored       = "not stored"       // the receiver's machine refuses it permanently
	Ended           = "ended"            // its receiver's session has ended
	EndedUnanswered = "ended-unanswered" // its receiver's session has read it, and has ended without an answer
	Unanswered      = "unanswered"       // no answer has come in time
)

// Reasons of the notices that ring.
const (
	Reminder = "reminder" // to a session that owes an answer
	Asked    = "asked"    // what the session has asked to be told, see package notify
)

// kind is what c2c knows of the notices with one reason.
type kind struct {
	reason  string
	status  string // the reason in the words that status uses; the id of the notice is made from it
	atOnce  bool   // the sender gets the notice even if it just got another one
	rings   bool   // the notice is not deferrable
	one     func(n News) string
	several func(n News, to, which string) string // n is the oldest of several news about the receiver to; which describes the messages
}

// kinds has a row for each reason. A row without texts is for notices whose sender brings the text. A reason without a row
// can be sent like one of these; it does not ring.
var kinds = [...]kind{
	{reason: Unread, status: Unread, one: unread, several: unreadSeveral},
	{reason: Refused, status: Refused, one: refused, several: refusedSeveral},
	{reason: Ended, status: Ended, atOnce: true, one: ended, several: endedSeveral},
	{reason: EndedUnanswered, status: Ended, one: endedUnanswered, several: endedUnansweredSeveral},
	{reason: Expired, status: Expired, one: expired, several: expiredSeveral},
	{reason: Unanswered, status: Unanswered, one: unanswered, several: unansweredSeveral},
	{reason: sessions.Dead, status: sessions.Dead, one: dead, several: deadSeveral},
	{reason: NotStored, status: NotStored, one: notStored, several: notStoredSeveral},
	{reason: Reminder, status: Reminder, rings: true},
	{reason: Asked, status: Asked, rings: true},
}

// kindOf returns the row of a reason; an empty one if there is none.
func kindOf(reason string) kind {
	for _, k := range kinds {
		if k.reason == reason {
			return k
		}
	}
	return kind{}
}

// sentence describes news about one receiver with one reason.
func sentence(some []News) string {
	n := some[0]
	k := kindOf(n.Reason)
	if k.one == nil {
		k = kindOf(sessions.Dead)
	}
	if len(some) == 1 {
		return k.one(n)
	}
	var names []string
	for _, one := range some {
		names = append(names, Describe(one.Message))
	}
	return k.several(n, cmp.Or(n.Session.Alias, n.Message.To), strings.Join(names, ", "))
}

func unread(n News) string {
	s, m, after := n.Session, n.Message, UnreadAfter(n.Session, n.Message)
	if _, host, ok := strings.Cut(s.Alias, "@"); ok {
		return fmt.Sprintf("%s has not confirmed your message %s to %s for %s. It waits here until that machine is there; c2c status %s tells more.",
			host, Describe(m), s.Alias, Span(after), mail.ShortID(m.ID))
	}
	return fmt.Sprintf("%s has not read your message %s for %s.%s It still waits; c2c status %s tells more.",
		s.Alias, Describe(m), Span(after), unreadWhy(s), mail.ShortID(m.ID))
}

func unreadSeveral(n News, to, which string) string {
	after := Span(UnreadAfter(n.Session, n.Message))
	if _, host, ok := strings.Cut(to, "@"); ok {
		return fmt.Sprintf("%s has not confirmed your messages %s to %s, the oldest for %s. They wait here until that machine is there; c2c outbox tells more.", host, which, to, after)
	}
	return fmt.Sprintf("%s has not read your messages %s, the oldest for %s.%s They still wait; c2c outbox tells more.", to, which, after, unreadWhy(n.Session))
}

func refused(n News) string {
	return fmt.Sprintf("The person of %s has its client refuse messages from other sessions, so your message %s waits for its next turn.", n.Session.Alias, Describe(n.Message))
}

func refusedSeveral(_ News, to, which string) string {
	return fmt.Sprintf("The person of %s has its client refuse messages from other sessions, so your messages %s wait for its next turn.", to, which)
}

func ended(n News) string {
	return fmt.Sprintf("The session of %s has ended without reading your message %s. It gets it when it is started again; c2c handover %[1]s NAME gives its mail to another session.",
		n.Session.Alias, Describe(n.Message))
}

func endedSeveral(_ News, to, which string) string {
	return fmt.Sprintf("The session of %s has ended without reading your messages %s. It gets them when it is started again; c2c handover %[1]s NAME gives its mail to another session.", to, which)
}

func endedUnanswered(n News) string {
	return fmt.Sprintf("The session of %s has ended without an answer to your message %s. It is reminded when it is started again; until then, ask another session.",
		n.Session.Alias, Describe(n.Message))
}

func endedUnansweredSeveral(_ News, to, which string) string {
	return fmt.Sprintf("The session of %s has ended without an answer to your messages %s. It is reminded when it is started again; until then, ask another session.", to, which)
}

func expired(n News) string {
	m := n.Message
	within := Span(mail.FromSeconds(m.ExpiresAt).Sub(m.Time()))
	if _, host, ok := strings.Cut(m.To, "@"); ok {
		return fmt.Sprintf("%s has not confirmed your message %s to %s within %s. It has expired and is not handed over any more; send it again if it still matters.",
			host, Describe(m), m.To, within)
	}
	return fmt.Sprintf("%s did not read your message %s within %s. It has expired and is not handed over any more; send it again if it still matters.",
		m.To, Describe(m), within)
}

func expiredSeveral(_ News, to, which string) string {
	if _, host, ok := strings.Cut(to, "@"); ok {
		return fmt.Sprintf("%s has not confirmed your messages %s to %s in time. They have expired and are not handed over any more; send them again if they still matter.", host, which, to)
	}
	return fmt.Sprintf("%s did not read your messages %s in time. They have expired and are not handed over any more; send them again if they still matter.", to, which)
}

func unanswered(n News) string {
	m := n.Message
	return fmt.Sprintf("%s has not answered your message %s within %s; c2c status %s tells whether it was read.",
		m.To, Describe(m), Span(mail.FromSeconds(m.AnswerBy).Sub(m.Time())), mail.ShortID(m.ID))
}

func unansweredSeveral(_ News, to, which string) string {
	return fmt.Sprintf("%s has not answered your messages %s in time; c2c status ID tells whether one was read.", to, which)
}

func dead(n News) string {
	if n.Why != "" {
		return fmt.Sprintf("Your message %s to %s cannot be handed over: %s. c2c dead-letter shows it.", Describe(n.Message), n.Message.To, n.Why)
	}
	return fmt.Sprintf("Nobody has read your message %s to %s, and that session is gone for long. c2c dead-letter shows the message.", Describe(n.Message), n.Message.To)
}

func deadSeveral(n News, to, which string) string {
	if n.Why != "" {
		return fmt.Sprintf("Your messages %s to %s cannot be handed over: %s. c2c dead-letter shows them.", which, to, n.Why)
	}
	return fmt.Sprintf("Nobody has read your messages %s to %s, and that session is gone for long. c2c dead-letter shows the messages.", which, to)
}

func notStored(n News) string {
	return fmt.Sprintf("%s was not stored there: %s. It is not sent again.", Describe(n.Message), n.Why)
}

func notStoredSeveral(n News, _, which string) string {
	return fmt.Sprintf("%s were not stored there: %s. They are not sent again.", which, n.Why)
}
