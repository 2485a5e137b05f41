package owed

import (
	"time"

	"c2c/inbox/mail"
)

// How long a session has to answer a message that asks, unless the message sets its own time.
const (
	blockingTime = 10 * time.Minute
	urgentTime   = 30 * time.Minute
	normalTime   = 4 * time.Hour
)

// NotAsked, as Due of a message, means that no session owes an answer, whatever the message's kind. It is for messages
// that are sent to many.
const NotAsked = -1

// DueOf returns when the answer to a message sent now is due; 0: it needs no answer.
func DueOf(m mail.Message, now time.Time) float64 {
	switch {
	case m.Due == NotAsked || !m.Asks():
		return 0
	case m.AnswerBy > 0:
		return m.AnswerBy
	}
	within := normalTime
	switch m.Bucket() {
	case mail.Blocking:
		within = blockingTime
	case mail.Urgent:
		within = urgentTime
	}
	return mail.Seconds(now.Add(within))
}
